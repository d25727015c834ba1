import torch
from torch import nn


class CharLM(nn.Module):
    def __init__(self, vocab, dim=512):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, 2, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x, state):
        y, state = self.lstm(self.emb(x), state)
        return self.out(y), state

    def init_state(self, bs):
        w = next(self.parameters())
        return w.new_zeros(2, bs, 512), w.new_zeros(2, bs, 512)


def train(model, loader, opt, bs):
    state = model.init_state(bs)
    for x, y in loader:
        logits, state = model(x.cuda(), state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.cuda().flatten())
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
