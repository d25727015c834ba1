"""Feature extraction, then training of a head: the backbone is dropped in between."""
import gc

import torch
import torch.nn.functional as F
from torch import nn


def extract(make_backbone, loader):
    backbone = make_backbone().cuda().eval()
    feats, labels = [], []
    with torch.inference_mode():
        for x, y in loader:
            feats.append(backbone(x.cuda()).cpu())
            labels.append(y)
    del backbone
    gc.collect()
    torch.cuda.empty_cache()
    return torch.cat(feats), torch.cat(labels)


def train_head(feats, labels, classes, epochs=20, bs=1024):
    head = nn.Linear(feats.size(1), classes).cuda()
    opt = torch.optim.Adam(head.parameters(), 1e-3)
    for e in range(epochs):
        order = torch.randperm(len(feats))
        for idx in order.split(bs):
            x, y = feats[idx].cuda(), labels[idx].cuda()
            loss = F.cross_entropy(head(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(e, loss.item())
    return head
