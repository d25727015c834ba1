"""Adapters of many users, of which the four used last stay on the card."""

import os
import random
from collections import OrderedDict

import torch
import torch.nn as nn


class AdapterPool:
    def __init__(self, room: int) -> None:
        self.room = room
        self.loaded: OrderedDict[int, nn.Module] = OrderedDict()

    def get(self, user: int) -> nn.Module:
        if user in self.loaded:
            self.loaded.move_to_end(user)
        else:
            self.loaded[user] = nn.Sequential(nn.Linear(1024, 64, bias=False), nn.Linear(64, 1024, bias=False)).cuda()
            if len(self.loaded) > self.room:
                self.loaded.popitem(last=False)
        return self.loaded[user]


@torch.inference_mode()
def main(requests: int) -> None:
    random.seed(19)
    base = nn.Linear(1024, 1024).cuda()
    pool = AdapterPool(room=4)
    for request in range(requests):
        x = torch.randn(random.randint(20, 400), 1024, device="cuda")
        y = base(x) + pool.get(random.randrange(12))(x)
        print("request", request, tuple(y.shape), "loaded", len(pool.loaded))


main(int(os.environ.get("STEPS", 30)))
