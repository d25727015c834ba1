import torch
import torch.nn as nn


class WordLM(nn.Module):
    def __init__(self, vocab, dim=650):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, 2, dropout=0.5, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x, state):
        y, state = self.rnn(self.emb(x), state)
        return self.out(y), state


def cut(state):
    return None if state is None else tuple(s.detach() for s in state)


def train(model, stream, epochs, device="cuda"):
    model.to(device).train()
    opt = torch.optim.SGD(model.parameters(), lr=20.0)
    for epoch in range(epochs):
        state = None
        for x, y in stream():
            state = cut(state)
            opt.zero_grad()
            logits, state = model(x.to(device), state)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            opt.step()
        print(epoch, loss.item())
