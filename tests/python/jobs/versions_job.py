"""A small job for every version of torch and Python: versions_job.py FILE. Writes what PyTorch counted to FILE."""

import json
import sys

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(1000, 3000)
        self.second = torch.nn.Linear(3000, 1000)

    def forward(self, batch):
        hidden = self.first(batch)  # takes memory
        return self.second(torch.relu(hidden))  # takes memory


def main():
    model = Net().cuda()  # takes memory
    optimizer = torch.optim.AdamW(model.parameters())
    side = torch.cuda.Stream()
    kept = []
    for step in range(6):
        optimizer.zero_grad()
        batch = torch.randn(500 + 100 * (step % 3), 1000, device="cuda")  # takes memory
        with torch.cuda.stream(side):
            kept.append(torch.empty(100_000 * (step + 1), device="cuda"))  # takes memory
        loss = model(batch).square().mean()  # takes memory
        loss.backward()  # takes memory
        optimizer.step()  # takes memory
    stats = torch.cuda.memory_stats()
    with open(sys.argv[1], "w") as file:
        json.dump(stats, file)


main()
