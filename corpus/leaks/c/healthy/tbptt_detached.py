"""Truncated backpropagation through time over chunks; the state is detached between them."""
import os
import random

import torch
from torch import nn

device = "cuda"
random.seed(2)


class CharRNN(nn.Module):
    def __init__(self, vocab=96, hidden=256):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden)
        self.cell = nn.LSTMCell(hidden, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids, state):
        logits = []
        for t in range(ids.shape[1]):
            state = self.cell(self.emb(ids[:, t]), state)
            logits.append(self.out(state[0]))
        return torch.stack(logits, 1), state


model = CharRNN().to(device)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
state = (torch.zeros(32, 256, device=device), torch.zeros(32, 256, device=device))
ppl = []
for chunk in range(int(os.environ.get("STEPS", 60))):
    ids = torch.randint(0, 96, (32, random.randint(6, 24)), device=device)
    logits, state = model(ids[:, :-1], state)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 1.0)
    opt.step()
    state = tuple(s.detach() for s in state)
    ppl.append(loss.item())
    print(f"chunk {chunk} length {ids.shape[1]} loss {ppl[-1]:.4f}")
