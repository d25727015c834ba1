import torch
from torch import nn


def personalise(backbone, heads, loaders, rounds):
    """Every client trains its own head on top of the shared, frozen body."""
    for p in backbone.parameters():
        p.requires_grads = False
    backbone.cuda()
    ce = nn.CrossEntropyLoss()
    for r in range(rounds):
        for head, loader in zip(heads, loaders):
            head.cuda().train()
            opt = torch.optim.SGD(head.parameters(), lr=0.1)
            for x, y in loader:
                opt.zero_grad()
                ce(head(backbone(x.cuda())), y.cuda()).backward()
                opt.step()
            head.cpu()


def privacy_audit(models, probe, y):
    """Membership score: loss of each client model on the probe batch."""
    table = {}
    with torch.no_grad():
        for name, m in models.items():
            m.cuda().eval()
            table[name] = nn.functional.cross_entropy(m(probe.cuda()), y.cuda()).item()
            m.cpu()
    return table
