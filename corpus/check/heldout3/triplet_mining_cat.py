import torch
import torch.nn.functional as F


@torch.no_grad()
def embed_all(net, loader, device="cuda"):
    net.eval()
    feats = torch.empty(0, 512, device=device)
    ys = torch.empty(0, dtype=torch.long, device=device)
    for x, y in loader:
        feats = torch.cat((feats, F.normalize(net(x.to(device)), dim=1)), dim=0)
        ys = torch.cat((ys, y.to(device)))
    return feats, ys


def hardest(feats, ys, chunk=1024):
    """Index of the hardest negative of every item, by chunks."""
    out = []
    for i in range(0, len(feats), chunk):
        sim = feats[i:i + chunk] @ feats.t()
        sim.masked_fill_(ys[i:i + chunk, None] == ys[None, :], -2)
        out.append(sim.argmax(1).cpu())
    return torch.cat(out)


def train(net, dataset, make_loader, rounds=10, margin=0.2):
    net.cuda()
    opt = torch.optim.Adam(net.parameters(), lr=1e-5)
    for r in range(rounds):
        feats, ys = embed_all(net, make_loader(dataset, shuffle=False))
        neg = hardest(feats, ys)
        del feats, ys
        net.train()
        for idx, x, xp in make_loader(dataset.pairs(), shuffle=True):
            xn = torch.stack([dataset[j][0] for j in neg[idx].tolist()])
            a, p, n = (net(t.cuda()) for t in (x, xp, xn))
            loss = F.triplet_margin_loss(a, p, n, margin=margin)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("round", r, loss.item())
