"""Two-tower retrieval, in-batch negatives."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from events import Sessions

DEVICE = torch.device("cuda")


def collate(rows):
    users = pad_sequence([torch.tensor(r["history"]) for r in rows], batch_first=True)
    items = torch.tensor([r["next"] for r in rows])
    return users.to(DEVICE), items.to(DEVICE)


class Tower(nn.Module):
    def __init__(self, n, d=128):
        super().__init__()
        self.table = nn.EmbeddingBag(n, d, mode="mean", padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(d, 256), nn.ReLU(), nn.Linear(256, d))

    def forward(self, ids):
        return F.normalize(self.mlp(self.table(ids)), dim=-1)


def main():
    ds = Sessions("2024-03")
    dl = DataLoader(ds, batch_size=4096, shuffle=True, num_workers=12, collate_fn=collate, persistent_workers=True)
    user, item = Tower(ds.n_items).to(DEVICE), Tower(ds.n_items).to(DEVICE)
    opt = torch.optim.Adam([*user.parameters(), *item.parameters()], 1e-3)
    for epoch in range(10):
        for hist, nxt in dl:
            u, v = user(hist), item(nxt[:, None])
            loss = F.cross_entropy(u @ v.t() / 0.05, torch.arange(len(u), device=DEVICE))
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
