"""Prompt tuning that adds a new prompt and a new parameter group for each batch."""

import os

import torch
import torch.nn as nn


def main(iterations: int) -> None:
    encoder = nn.TransformerEncoderLayer(512, 8, 1024, batch_first=True).cuda().requires_grad_(False)
    head = nn.Linear(512, 2).cuda()
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
    for iteration in range(iterations):
        prompt = nn.Parameter(torch.zeros(400, 512, device="cuda"))  # leak
        optimizer.add_param_group({"params": [prompt]})  # leak
        x = torch.randn(8, 32, 512, device="cuda")
        y = torch.randint(0, 2, (8,), device="cuda")
        sequence = torch.cat([prompt.expand(8, -1, -1), x], 1)
        loss = nn.functional.cross_entropy(head(encoder(sequence).mean(1)), y)
        optimizer.zero_grad()
        loss.backward()  # leak
        optimizer.step()  # leak
        print("iteration", iteration, "groups", len(optimizer.param_groups))


main(int(os.environ.get("STEPS", 30)))
