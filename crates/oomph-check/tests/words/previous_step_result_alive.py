import torch
def train(net, loader, opt, crit):
    for x, y in loader:
        opt.zero_grad()
        out = net(x.cuda())  # <-
        loss = crit(out, y.cuda())
        loss.backward()
        opt.step()
