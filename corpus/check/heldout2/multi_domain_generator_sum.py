import torch.nn.functional as F


def domain_loss(net, batch):
    x, y = batch
    return F.cross_entropy(net(x.cuda()), y.cuda())


def train(net, domain_loaders, opt, steps):
    iters = [iter(dl) for dl in domain_loaders]
    for step in range(steps):
        opt.zero_grad()
        loss = sum(domain_loss(net, next(it)) for it in iters)
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(step, loss.item())
