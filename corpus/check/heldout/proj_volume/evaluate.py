import torch


def dice(pred, truth, classes=4):
    out = []
    for c in range(1, classes):
        p, t = pred == c, truth == c
        out.append(2 * (p & t).sum().item() / max((p.sum() + t.sum()).item(), 1))
    return sum(out) / len(out)


def evaluate(net, loader):
    net.eval()
    scores = []
    for x, y in loader:
        pred = net(x.cuda()).argmax(1).cpu()
        scores.append(dice(pred, y))
    return sum(scores) / len(scores)
