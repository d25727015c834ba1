from itertools import cycle

import torch


def adapt(net, disc, source_loader, target_loader, opt, bce):
    """Unsupervised domain adaptation: the shorter loader is repeated."""
    for (xs, ys), (xt, _) in zip(source_loader, cycle(target_loader)):
        xs, ys, xt = xs.cuda(), ys.cuda(), xt.cuda()
        fs, ft = net.features(xs), net.features(xt)
        loss = net.classify(fs, ys) + bce(disc(torch.cat([fs, ft])), torch.cat([torch.ones(len(fs)), torch.zeros(len(ft))]).cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
