import torch
from torch import nn


def snapshot(net):
    return {k: v.detach().cpu().clone() for k, v in net.state_dict().items()}


@torch.no_grad()
def score(net, x, y):
    net.eval()
    return nn.functional.mse_loss(net(x.cuda()), y.cuda()).item()


def main():
    x, y = torch.randn(4096, 32), torch.randn(4096, 1)
    net = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    best, low = snapshot(net), float("inf")
    for ep in range(100):
        net.train()
        for k in range(0, 3072, 256):
            loss = nn.functional.mse_loss(net(x[k:k + 256].cuda()), y[k:k + 256].cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        v = score(net, x[3072:], y[3072:])
        if v < low:
            low, best = v, snapshot(net)
    net.load_state_dict(best)
    torch.save(best, "best.pt")


if __name__ == "__main__":
    main()
