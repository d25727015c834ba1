import itertools

import torch
from torch.utils.data import DataLoader

from encoders import TextTower, encode
from evaluate import recall
from pairs import Pairs, Docs


def info_nce(a, b, t=0.05):
    logits = a @ b.T / t
    return torch.nn.functional.cross_entropy(logits, torch.arange(len(a), device=a.device))


def main(steps=20_000, device="cuda"):
    tower = TextTower().to(device)
    opt = torch.optim.Adam(tower.parameters(), lr=1e-3)
    pairs = itertools.cycle(DataLoader(Pairs("train"), batch_size=512, shuffle=True, num_workers=8))
    for step in range(steps):
        q, d = next(pairs)
        loss = info_nce(encode(tower, q, device), encode(tower, d, device))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(recall(tower, DataLoader(Pairs("dev"), 512), DataLoader(Docs(), 512), device))


if __name__ == "__main__":
    main()
