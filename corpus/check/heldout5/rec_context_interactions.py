import torch
import torch.nn as nn


class ContextFM(nn.Module):
    """Second-order interactions between candidates and a shared context vector."""

    def __init__(self, d=256):
        super().__init__()
        self.ctx = nn.Linear(512, d)
        self.cand = nn.Linear(768, d)
        self.bias = nn.Linear(d, 1)

    def forward(self, context, candidates):
        # context: B,512   candidates: B,N,768 with N = 5000
        c = self.ctx(context).unsqueeze(1).repeat(1, candidates.size(1), 1)
        k = self.cand(candidates)
        return self.bias(c * k).squeeze(-1)


def fit(loader, epochs=5):
    net = ContextFM()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    net.to("cuda")
    step = 0
    for ep in range(epochs):
        for ctx, cand, click in loader:
            loss = nn.functional.cross_entropy(net(ctx.cuda(), cand.cuda()), click.cuda())
            loss.backward()
            opt.step()
            step += 1
            if step % 100 == 0:
                print(ep, step, loss.item())
    return net
