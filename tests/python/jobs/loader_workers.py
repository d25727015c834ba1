"""Workers that are forked or spawned, pinned batches, a guard around main."""

import argparse

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.randn(16), index % 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--start", choices=["fork", "spawn", "forkserver"], required=True)
    args = parser.parse_args()
    net = torch.nn.Linear(16, 2).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    loader = DataLoader(
        Numbers(), 4, num_workers=1, pin_memory=True, persistent_workers=True, multiprocessing_context=args.start
    )
    for _ in range(2):
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
