"""Stateful language model with truncated BPTT done right."""
import torch
from torch import nn


def cut(state):
    if torch.is_tensor(state):
        return state.detach()
    return tuple(cut(s) for s in state)


class LM(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.LSTM(d, d, 2, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, x, state):
        y, state = self.rnn(self.emb(x), state)
        return self.out(y), state


def epoch(model, batches, opt, bs, d, device):
    state = (torch.zeros(2, bs, d, device=device), torch.zeros(2, bs, d, device=device))
    total = 0.0
    for x, y in batches:
        state = cut(state)
        logits, state = model(x.to(device), state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten().to(device))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        total += loss.item()
    return total / len(batches)


def main(batches, vocab, bs=32, d=650):
    device = "cuda"
    model = LM(vocab, d).to(device)
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for e in range(20):
        print(e, epoch(model, batches, opt, bs, d, device))
