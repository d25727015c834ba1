import torch
def is_due(i, every):
    return (i + 1) % every == 0
def apply(opt, net):
    torch.nn.utils.clip_grad_value_(net.parameters(), 0.5)
    opt.step()
def train(net, loader, opt, every=16):
    for i, (x, y) in enumerate(loader):
        opt.zero_grad()  # <-
        (net(x) - y).pow(2).mean().div(every).backward()
        if is_due(i, every):
            apply(opt, net)
# ---
import torch
def train(net, loader, opt):
    seen = 0
    for x, y in loader:
        opt.zero_grad()  # <-
        torch.nn.functional.cross_entropy(net(x), y).backward()
        seen += 1
        if seen == 4:
            opt.step()
            seen = 0
