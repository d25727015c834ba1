from itertools import cycle

import torch
import torch.nn.functional as F


def train_epoch(model, labelled, unlabelled, opt, threshold=0.95):
    model.train()
    for (x, y), (weak, strong) in zip(cycle(labelled), unlabelled):
        x, y, weak, strong = (t.cuda() for t in (x, y, weak, strong))
        with torch.no_grad():
            conf, pseudo = model(weak).softmax(1).max(1)
        sup = F.cross_entropy(model(x), y)
        unsup = (F.cross_entropy(model(strong), pseudo, reduction="none") * (conf > threshold)).mean()
        opt.zero_grad()
        (sup + unsup).backward()
        opt.step()
