"""Streaming evaluation of a recurrent tagger. The state goes from chunk to chunk; nobody said no_grad."""
import os

import torch
from torch import nn

device = "cuda"


class StreamingTagger(nn.Module):
    def __init__(self, feats=80, hidden=384, tags=40):
        super().__init__()
        self.proj = nn.Linear(feats, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.head = nn.Linear(hidden, tags)
        self.hidden = hidden

    def initial(self, batch):
        return torch.zeros(batch, self.hidden, device=device)

    def forward(self, frame, state):
        state = self.cell(torch.relu(self.proj(frame)), state)  # leak
        return self.head(state), state


def evaluate(model, chunks, batch=192):
    model.eval()
    correct, total = 0, 0
    state = model.initial(batch)
    for i in range(chunks):
        frame = torch.randn(batch, 80, device=device)
        target = torch.randint(0, 40, (batch,), device=device)
        logits, state = model(frame, state)  # leak
        correct += (logits.argmax(-1) == target).sum().item()
        total += batch
        print(f"chunk {i:4d}  acc {correct / total:.3f}")


if __name__ == "__main__":
    evaluate(StreamingTagger().to(device), int(os.environ.get("STEPS", 60)))
