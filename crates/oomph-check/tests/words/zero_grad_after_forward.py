import torch
def train(net, loader, opt, crit):
    for x, y in loader:
        out = net(x.cuda())
        loss = crit(out, y.cuda())
        opt.zero_grad()  # <-
        loss.backward()
        opt.step()
