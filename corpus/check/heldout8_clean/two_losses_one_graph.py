import torch


def shared_step(net, x, ya, yb, opt, crit):
    a, b = net(x)
    la, lb = crit(a, ya), crit(b, yb)
    opt.zero_grad()
    la.backward(retain_graph=True)
    ga = [p.grad.norm().item() for p in net.parameters() if p.grad is not None]
    lb.backward()
    opt.step()
    return la.item(), lb.item(), max(ga)
