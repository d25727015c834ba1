import torch
import torch.nn.functional as F


def train(net, loader, opt):
    acc = 0
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        prob = torch.softmax(logits, dim=1)
        acc += (prob * F.one_hot(y, prob.size(1))).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return acc / len(loader)
