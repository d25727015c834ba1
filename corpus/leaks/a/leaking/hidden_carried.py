"""Perplexity of a recurrent model over a long text: the hidden state is carried from window to window with its graph."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
vocab, width = 96, 384


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens, hidden):
        logits = []
        for t in range(tokens.shape[1]):
            embedded = self.embed(tokens[:, t])  # leak
            hidden = self.cell(embedded, hidden)  # leak
            logits.append(self.head(hidden))
        return torch.stack(logits, 1), hidden


model = CharModel().cuda().eval()
criterion = nn.CrossEntropyLoss()
hidden = torch.zeros(64, width, device="cuda")
total = 0.0

for step in range(steps):
    text = torch.randint(0, vocab, (64, 9)).cuda()
    logits, hidden = model(text[:, :-1], hidden)  # leak
    total += criterion(logits.reshape(-1, vocab), text[:, 1:].reshape(-1)).item()
    print(f"step {step}: perplexity {torch.tensor(total / (step + 1)).exp():.3f}")
