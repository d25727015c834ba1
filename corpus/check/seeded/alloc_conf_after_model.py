import os

import torch
from torch import nn

device = torch.device("cuda")
model = nn.Transformer(d_model=1024).to(device)

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128")


def train(loader, opt):
    for src, tgt in loader:
        loss = model(src.to(device), tgt.to(device)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
