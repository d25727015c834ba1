import torch


def collect_scores(net, loader):
    outs = []
    for x in loader:
        outs.append(net(x.cuda()).softmax(-1).cpu())
    return torch.cat(outs)


def main(net, loader):
    net.cuda().eval()
    with torch.no_grad():
        scores = collect_scores(net, loader)
    print(scores.mean(0))
