import sys

import torch

net = torch.load(sys.argv[1], weights_only=False)
net.eval()
with torch.inference_mode():
    for line in sys.stdin:
        x = torch.tensor([float(v) for v in line.split()]).cuda()
        print(net(x).argmax().item())
