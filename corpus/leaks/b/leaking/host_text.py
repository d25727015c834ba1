"""Generated text is kept as strings and token lists for a later report."""

import os
import random

import torch
import torch.nn as nn


class Report:
    def __init__(self) -> None:
        self.samples: list[tuple[str, list[float]]] = []

    def add(self, words: list[str], scores: list[float]) -> None:
        self.samples.append((" ".join(words), scores))  # leak


def main(iterations: int) -> None:
    random.seed(1)
    vocabulary = ["".join(random.choices("abcdefghij", k=8)) for _ in range(1000)]
    model = nn.Sequential(nn.Embedding(1000, 128), nn.Linear(128, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    report = Report()
    for iteration in range(iterations):
        tokens = torch.randint(0, 1000, (64, 600))
        scores = model(tokens.cuda()).squeeze(-1)
        optimizer.zero_grad()
        scores.mean().backward()
        optimizer.step()
        for row, values in zip(tokens.tolist(), scores.tolist()):
            report.add([vocabulary[token] for token in row], [value + random.random() for value in values])  # leak
        print(f"iteration {iteration}: {len(report.samples)} samples")


main(int(os.environ.get("STEPS", 30)))
