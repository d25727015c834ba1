"""Dumps embeddings to disk; nothing in this process trains."""
import sys

import torch
from torch.utils.data import DataLoader

from nets import build_encoder
from texts import Lines

torch.set_grad_enabled(False)


def main(path, out):
    net = build_encoder().to("cuda").eval()
    rows = []
    for ids in DataLoader(Lines(path), batch_size=128, num_workers=4):
        rows.append(net(ids.to("cuda")).cpu())
    torch.save(torch.cat(rows), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
