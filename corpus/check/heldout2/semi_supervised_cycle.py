import itertools as it

import torch.nn.functional as F
from torch.utils.data import DataLoader


def fixmatch(model, labelled, unlabelled, opt, steps, tau=0.95):
    lab = DataLoader(labelled, 64, shuffle=True, drop_last=True)
    unl = DataLoader(unlabelled, 448, shuffle=True, drop_last=True)
    lab_it, unl_it = it.cycle(lab), it.cycle(unl)
    for _ in range(steps):
        (x, y), (weak, strong) = next(lab_it), next(unl_it)
        soft = model(weak.cuda()).detach().softmax(-1)
        conf, guess = soft.max(-1)
        loss = F.cross_entropy(model(x.cuda()), y.cuda())
        loss = loss + (F.cross_entropy(model(strong.cuda()), guess, reduction="none") * (conf > tau)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
