from dataclasses import dataclass
from typing import Callable, Dict

import torch

NO_GOLD = torch.full((1,), -100, device="cuda")


@dataclass
class Task:
    name: str
    rows: list
    prompt: Callable[[dict], str]
    gold: Callable[[dict], int]

    def batches(self, tok, size):
        for i in range(0, len(self.rows), size):
            part = self.rows[i : i + size]
            yield {
                "inputs": tok([self.prompt(r) for r in part], padding=True, return_tensors="pt"),
                "gold": torch.tensor([self.gold(r) for r in part]),
            }


TASKS: Dict[str, Task] = {}


def register(task: Task) -> Task:
    TASKS[task.name] = task
    return task
