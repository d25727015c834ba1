import copy

import torch


def cyclic_snapshots(net, loader, epochs, cycle, lr_max=0.1):
    net.cuda()
    opt = torch.optim.SGD(net.parameters(), lr=lr_max, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, cycle)
    ensemble = []
    norms = []
    for epoch in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
            norms.append(torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0))
            opt.step()
        sched.step()
        if (epoch + 1) % cycle == 0:
            ensemble.append(copy.deepcopy(net))
    return ensemble, torch.stack(norms).mean().item()
