import argparse

import torch
import torch.nn as nn


class CharRNN(nn.Module):
    def __init__(self, vocab, dim=512):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, num_layers=2, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h


def train(model, loader, opt, epochs):
    crit = nn.CrossEntropyLoss()
    for _ in range(epochs):
        h = None
        for x, y in loader:
            opt.zero_grad()
            logits, h = model(x.cuda(), h)
            loss = crit(logits.flatten(0, 1), y.cuda().flatten())
            loss.backward(retain_graph=True)
            opt.step()
