"""One step per pass, with purpose: full-batch gradient descent."""
import torch.nn.functional as F


def full_batch(net, loader, opt, iterations):
    count = len(loader.dataset)
    for it in range(iterations):
        opt.zero_grad()
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(net(x.cuda()), y.cuda(), reduction="sum") / count
            loss.backward()
            total += loss.item()
        opt.step()
        print(it, total)
