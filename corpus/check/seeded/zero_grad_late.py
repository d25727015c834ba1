import torch
import torch.nn.functional as F


def run(net, batches, optimiser):
    for x, y in batches:
        out = net(x.cuda())
        loss = F.cross_entropy(out, y.cuda())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
