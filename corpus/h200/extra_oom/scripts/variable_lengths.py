"""class: none
cap_mib: 1600
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

import random

random.seed(1)
emb = nn.Embedding(1000, 1024).cuda()
keep = []
for step in range(60):
    n = random.randrange(4, 40)
    ids = torch.randint(0, 1000, (n, 256), device="cuda")
    with torch.no_grad():
        h = emb(ids)
        if step % 4 == 0:
            keep.append(h[:1].clone())
        big = torch.cat([h, h])
        del h, big
state = torch.empty(1500 * 2**18, device="cuda")
