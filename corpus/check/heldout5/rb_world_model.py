import torch
import torch.nn as nn


class RSSM(nn.Module):
    def __init__(self, embed=1024, deter=1024, stoch=32, act=12):
        super().__init__()
        self.cell = nn.GRUCell(stoch + act, deter)
        self.post = nn.Linear(deter + embed, 2 * stoch)
        self.dec = nn.Linear(deter + stoch, embed)

    def step(self, h, s, a, e):
        h = self.cell(torch.cat([s, a], -1), h)
        m, ls = self.post(torch.cat([h, e], -1)).chunk(2, -1)
        s = m + ls.exp() * torch.randn_like(m)
        return h, s, self.dec(torch.cat([h, s], -1))


class OnlineLearner:
    """Learns while the arm is moving: the latent state goes on from segment to segment."""

    def __init__(self, rssm, device):
        self.m = rssm.to(device)
        self.opt = torch.optim.Adam(rssm.parameters(), 2e-4)
        self.h = torch.zeros(1, 1024, device=device)
        self.s = torch.zeros(1, 32, device=device)

    def segment(self, embeds, actions):
        loss = 0.0
        self.h, self.s = self.h.detach(), self.s.detach()
        for e, a in zip(embeds, actions):
            self.h, self.s, rec = self.m.step(self.h, self.s, a, e)
            loss = loss + (rec - e).pow(2).mean()
        self.opt.zero_grad()
        (loss / len(embeds)).backward(retain_graph=True)
        self.opt.step()
        return float(loss)


def run(stream, device="cuda"):
    learner = OnlineLearner(RSSM(), device)
    for k, (embeds, actions) in enumerate(stream):
        print(k, learner.segment(embeds.to(device), actions.to(device)))
