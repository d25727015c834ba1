"""Beam search over prompts of different length; beams are re-ordered, extended and dropped."""

import os
import random

import torch
import torch.nn as nn


@torch.inference_mode()
def search(embed: nn.Embedding, cell: nn.GRUCell, head: nn.Linear, prompt: int, beams: int) -> torch.Tensor:
    state = torch.zeros(beams * 64, 512, device="cuda")
    tokens = torch.zeros(beams * 64, 1, dtype=torch.long, device="cuda")
    for _ in range(prompt):
        state = cell(embed(tokens[:, -1]), state)
        scores = head(state).log_softmax(-1)
        best = scores.view(64, -1).topk(beams).indices.flatten()
        tokens = torch.cat([tokens, (best % 2000)[:, None]], 1)
    return tokens


def main(requests: int) -> None:
    random.seed(13)
    embed, cell, head = nn.Embedding(2000, 256).cuda(), nn.GRUCell(256, 512).cuda(), nn.Linear(512, 2000).cuda()
    for request in range(requests):
        tokens = search(embed, cell, head, prompt=random.randint(3, 24), beams=random.choice([2, 4, 8]))
        print("request", request, tuple(tokens.shape))


main(int(os.environ.get("STEPS", 30)))
