import os

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import torch
from torch import nn


def main(loader):
    net = nn.Linear(512, 512).to("cuda")
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        opt.zero_grad()
        net(x.to("cuda")).square().mean().backward()
        opt.step()
    print(torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_reserved() >> 20)


if __name__ == "__main__":
    from stream import batches

    main(batches())
