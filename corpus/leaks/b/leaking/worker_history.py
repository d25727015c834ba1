"""Two persistent workers whose data set remembers every array it ever decoded, over all epochs."""

import os

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Spectrograms(Dataset):
    def __init__(self, length: int) -> None:
        self.length = length
        self.history: list[np.ndarray] = []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        wave = np.random.default_rng(index).standard_normal((128, 256))  # leak
        self.history.append(wave)  # leak
        return torch.from_numpy(np.abs(np.fft.rfft(wave))[:, :128]).float(), index % 4


def main(iterations: int) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(128 * 128, 4)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(Spectrograms(120), batch_size=12, num_workers=2, persistent_workers=True)
    iteration = 0
    while iteration < iterations:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print("iteration", iteration, loss.item())
            iteration += 1


if __name__ == "__main__":
    main(int(os.environ.get("STEPS", 30)))
