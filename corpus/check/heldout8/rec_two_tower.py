import os

import torch
import torch.nn.functional as F
from torch import nn

from shop import Towers, click_loader

device = torch.device("cuda")
towers = Towers().to(device)
print("free", torch.cuda.mem_get_info()[0] >> 20, "MiB")
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

opt = torch.optim.Adam(towers.parameters(), 1e-3)
ACCUM = 4
for epoch in range(3):
    for i, (user, item) in enumerate(click_loader(4096)):
        towers.zero_grad()
        u, v = towers(user.to(device), item.to(device))
        logits = u @ v.t() / 0.05
        loss = F.cross_entropy(logits, torch.arange(len(u), device=device)) / ACCUM
        loss.backward()
        if i % ACCUM == ACCUM - 1:
            opt.step()
    print(epoch, loss.item() * ACCUM)
