"""Evaluate the recurrent NPC brain for one in-game day (about 80k ticks). RAM of the GPU goes up linearly..."""
import time

import torch
import torch.nn as nn

from gameclient import Client


class Brain(nn.Module):
    def __init__(self, obs=128, hid=1024, acts=12):
        super().__init__()
        self.enc = nn.Linear(obs, hid)
        self.cell = nn.GRUCell(hid, hid)
        self.pi = nn.Linear(hid, acts)

    def forward(self, o, h):
        h = self.cell(torch.relu(self.enc(o)), h)
        return self.pi(h), h


class NPC:
    def __init__(self, path):
        self.brain = Brain().to("cuda")
        self.brain.load_state_dict(torch.load(path, map_location="cuda"))
        self.brain.eval()
        self.h = torch.zeros(1, 1024, device="cuda")

    def tick(self, obs):
        o = torch.tensor(obs, dtype=torch.float32, device="cuda").unsqueeze(0)
        logits, self.h = self.brain(o, self.h)
        return int(logits.argmax(-1))


client = Client("127.0.0.1", 7777)
npc = NPC("brain_0412.pt")
while client.alive():
    for obs in client.poll():
        client.send(npc.tick(obs))
    time.sleep(1 / 60)
