"""A recurrent language model on a long stream of tokens, hidden state carried along."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()


class Language(nn.Module):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, 256)
        self.lstm = nn.LSTM(256, 384, num_layers=1, batch_first=True)
        self.head = nn.Linear(384, words)

    def forward(self, tokens, state=None):
        hidden, state = self.lstm(self.embed(tokens), state)
        return self.head(hidden), state


stream = torch.randint(0, 4_000, (16, 40 * 12 + 1))
model = Language(4_000).to(args.device)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
state = None
for start in range(0, stream.shape[1] - 1, 40):
    inputs, targets = stream[:, start : start + 40].to(args.device), stream[:, start + 1 : start + 41].to(args.device)
    logits, state = model(inputs, state)
    state = tuple(part.detach() for part in state)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
print(loss.item())
