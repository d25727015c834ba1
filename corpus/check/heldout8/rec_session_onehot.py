import torch
import torch.nn.functional as F
from torch import nn

N_ITEMS = 250_000


class SessionGRU(nn.Module):
    def __init__(self, d=128):
        super().__init__()
        self.emb = nn.Embedding(N_ITEMS, d)
        self.gru = nn.GRU(d, d, batch_first=True)

    def forward(self, items):
        h, _ = self.gru(self.emb(items))
        return h @ self.emb.weight.t()


def train(loader, epochs=5):
    net = SessionGRU().cuda()
    opt = torch.optim.Adagrad(net.parameters(), 0.05)
    for ep in range(epochs):
        for items in loader:
            items = items.cuda()
            logp = net(items[:, :-1]).log_softmax(-1)
            target = F.one_hot(items[:, 1:], N_ITEMS).float()
            loss = -(logp * target).sum(-1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(ep, loss.item())
