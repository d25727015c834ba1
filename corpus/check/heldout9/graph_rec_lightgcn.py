import numpy as np
import torch
from torch import nn


class LightGCN(nn.Module):
    _layers = {}

    def __init__(self, users, items, d=64):
        super().__init__()
        self.e = nn.Embedding(users + items, d)
        self.users = users
        nn.init.normal_(self.e.weight, std=0.1)

    def forward(self, adj, tag):
        h, acc = self.e.weight, [self.e.weight]
        for _ in range(3):
            h = torch.sparse.mm(adj, h)
            acc.append(h)
        out = torch.stack(acc).mean(0)
        LightGCN._layers[tag] = out
        return out[: self.users], out[self.users:]


def adjacency(pairs, users, items):
    r, c = pairs[:, 0], pairs[:, 1] + users
    idx = torch.stack([torch.cat([r, c]), torch.cat([c, r])])
    deg = torch.bincount(idx[0], minlength=users + items).clamp(min=1).float()
    val = (deg[idx[0]] * deg[idx[1]]).rsqrt()
    return torch.sparse_coo_tensor(idx, val, (users + items,) * 2).coalesce().cuda()


def main():
    pairs = torch.from_numpy(np.load("ratings.npy")).long()
    users, items = (pairs.max(0).values + 1).tolist()
    adj = adjacency(pairs, users, items)
    net = LightGCN(users, items).cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for step in range(5000):
        pick = pairs[torch.randint(len(pairs), (8192,))].cuda()
        neg = torch.randint(items, (8192,), device="cuda")
        u, i = net(adj, f"step{step}")
        pos_s, neg_s = (u[pick[:, 0]] * i[pick[:, 1]]).sum(1), (u[pick[:, 0]] * i[neg]).sum(1)
        loss = nn.functional.softplus(neg_s - pos_s).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 500 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
