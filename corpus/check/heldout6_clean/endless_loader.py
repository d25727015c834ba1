import torch


def forever(loader):
    while True:
        yield from loader


def fixmatch(net, labelled, unlabelled, opt, steps, tau=0.95):
    lab, unl = forever(labelled), forever(unlabelled)
    for _ in range(steps):
        x, y = next(lab)
        (weak, strong), _ = next(unl)
        with torch.no_grad():
            p, pseudo = net(weak.cuda()).softmax(1).max(1)
        loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        cons = torch.nn.functional.cross_entropy(net(strong.cuda()), pseudo, reduction="none")
        loss = loss + (cons * (p > tau)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
