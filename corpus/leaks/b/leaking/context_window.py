"""A long conversation: the context is concatenated on the card, and nobody cuts it."""

import os

import torch
import torch.nn as nn


class Conversation:
    def __init__(self, width: int) -> None:
        self.context = torch.zeros(8, 0, width, device="cuda")

    def extend(self, turn: torch.Tensor) -> torch.Tensor:
        self.context = torch.cat([self.context, turn], dim=1)  # leak
        return self.context


@torch.inference_mode()
def main(turns: int) -> None:
    width = 768
    summarise = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
    conversation = Conversation(width)
    for turn in range(turns):
        words = torch.randn(8, 72, width, device="cuda")
        context = conversation.extend(words)  # leak
        summary = summarise(context.mean(1))
        print("turn", turn, "context", context.shape[1], float(summary.sum()))


main(int(os.environ.get("STEPS", 30)))
