"""Text classification with padded ragged batches, from 3 to 40 sentences of 5 to 200 tokens."""
import os
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

device = "cuda"
rng = random.Random(42)


class AvgClassifier(nn.Module):
    def __init__(self, vocab=4000, dim=128, classes=6):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.out = nn.Linear(dim, classes)

    def forward(self, ids, lengths):
        h = self.mix(self.emb(ids))
        mask = torch.arange(ids.shape[1], device=ids.device)[None, :] < lengths[:, None]
        h = (h * mask[..., None]).sum(1) / lengths[:, None]
        return self.out(h)


def batch():
    n = rng.randint(3, 40)
    sents = [torch.randint(1, 4000, (rng.randint(5, 200),)) for _ in range(n)]
    lengths = torch.tensor([len(s) for s in sents])
    return pad_sequence(sents, batch_first=True), lengths, torch.randint(0, 6, (n,))


model = AvgClassifier().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
history = {"loss": [], "tokens": []}
for it in range(int(os.environ.get("STEPS", 60))):
    ids, lengths, y = (t.to(device) for t in batch())
    loss = nn.functional.cross_entropy(model(ids, lengths), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    history["loss"].append(loss.item())
    history["tokens"].append(ids.numel())
    print(f"it {it} {tuple(ids.shape)} loss {history['loss'][-1]:.4f}")
