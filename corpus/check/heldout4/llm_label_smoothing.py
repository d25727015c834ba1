"""Label smoothing written out, vocabulary 128k."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 128_256


class SmoothedLMLoss(nn.Module):
    def __init__(self, eps: float = 0.1, ignore: int = -100):
        super().__init__()
        self.eps, self.ignore = eps, ignore

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        keep = target != self.ignore
        logits, target = logits[keep], target[keep]
        hot = F.one_hot(target, VOCAB).float()
        soft = hot * (1 - self.eps) + self.eps / VOCAB
        return -(soft * F.log_softmax(logits, dim=-1)).sum(-1).mean()


class Wrapped(nn.Module):
    def __init__(self, lm):
        super().__init__()
        self.lm, self.crit = lm, SmoothedLMLoss()

    def forward(self, ids, labels):
        logits = self.lm(ids).logits
        return self.crit(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def train(lm, loader, steps, lr=2e-5):
    net = Wrapped(lm).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr)
    for i, (ids, labels) in zip(range(steps), loader):
        loss = net(ids.cuda(), labels.cuda())
        loss.backward()
        opt.step()
        opt.zero_grad()
        if i % 10 == 0:
            print(i, loss.item())
