import torch
import torch.nn as nn


def repackage(state):
    if isinstance(state, tuple):
        return tuple(repackage(s) for s in state)
    return state.detach()


class LM(nn.Module):
    def __init__(self, vocab, d=512):
        super().__init__()
        self.e = nn.Embedding(vocab, d)
        self.r = nn.LSTM(d, d, 2, batch_first=True)
        self.o = nn.Linear(d, vocab)

    def forward(self, x, s):
        y, s = self.r(self.e(x), s)
        return self.o(y), s


def train(lm, segments, opt, batch, d=512):
    state = tuple(torch.zeros(2, batch, d, device="cuda") for _ in range(2))
    for x, y in segments:
        state = repackage(state)
        opt.zero_grad()
        logits, state = lm(x.cuda(), state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.cuda().flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
        opt.step()
