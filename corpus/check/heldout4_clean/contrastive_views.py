"""SimCLR: the embeddings of the views are stored in a list because one loss couples them."""
import torch
import torch.nn.functional as F


def nt_xent(views, temp=0.2):
    z = F.normalize(torch.cat(views), dim=-1)
    n = len(views[0])
    sim = z @ z.t() / temp
    sim.fill_diagonal_(float("-inf"))
    target = torch.arange(2 * n, device=z.device).roll(n)
    return F.cross_entropy(sim, target)


def train(net, loader, epochs, lr=3e-4):
    net = net.cuda()
    opt = torch.optim.AdamW(net.parameters(), lr)
    history = []
    for e in range(epochs):
        for pair, _ in loader:
            views = []
            for view in pair:
                views.append(net(view.cuda()))
            loss = nt_xent(views)
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(loss.item())
        print(e, sum(history[-len(loader):]) / len(loader))
    return history
