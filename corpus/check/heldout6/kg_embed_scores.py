import torch
import torch.nn as nn
import torch.nn.functional as F


class TransE(nn.Module):
    def __init__(self, n_ent, n_rel, dim=200):
        super().__init__()
        self.ent = nn.Embedding(n_ent, dim)
        self.rel = nn.Embedding(n_rel, dim)

    def all_tails(self, h, r):
        q = self.ent(h) + self.rel(r)
        return -(q[:, None, :] - self.ent.weight[None, :, :]).abs().sum(2)


@torch.no_grad()
def mrr(model, triples, bs=512):
    model.eval()
    inv = n = 0
    for chunk in triples.split(bs):
        h, r, t = chunk.cuda().unbind(1)
        s = model.all_tails(h, r)
        gold = s.gather(1, t[:, None])
        rank = (s > gold).sum(1) + 1
        inv += (1.0 / rank.float()).sum().item()
        n += len(rank)
    return inv / n


def train(model, triples, n_ent, epochs, lr=5e-4):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        model.train()
        for chunk in triples[torch.randperm(len(triples))].split(1024):
            h, r, t = chunk.cuda().unbind(1)
            scores = model.all_tails(h, r)
            target = F.one_hot(t, n_ent).float()
            loss = F.binary_cross_entropy_with_logits(scores, target)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("mrr", mrr(model, triples[:5000]))


if __name__ == "__main__":
    facts = torch.load("fb15k.pt", map_location="cpu")
    net = TransE(14541, 237).cuda()
    train(net, facts, 14541, 50)
