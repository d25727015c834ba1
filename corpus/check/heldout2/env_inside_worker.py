import os

import torch
import torch.nn as nn

device = torch.device("cuda:0")


def build():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(1024, 16, batch_first=True), 24).to(device)


def main():
    model = build()
    warm = model(torch.zeros(1, 128, 1024, device=device))
    print("warm", warm.shape)
    # got fragmentation OOMs, a forum post said to set this
    os.environ.update({"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128"})
    opt = torch.optim.AdamW(model.parameters())
    for _ in range(100):
        opt.zero_grad()
        model(torch.randn(16, 512, 1024, device=device)).pow(2).mean().backward()
        opt.step()


if __name__ == "__main__":
    main()
