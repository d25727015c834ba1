import torch
from torch import nn
import torch.nn.functional as F


class Speller(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.cell = nn.LSTMCell(2 * d, d)
        self.out = nn.Linear(2 * d, vocab)

    def attend(self, h, mem):
        w = (mem @ h.unsqueeze(-1)).softmax(1)
        return (w * mem).sum(1)

    def forward(self, mem, ids):
        h = c = mem.new_zeros(mem.size(0), mem.size(2))
        ctx = mem.mean(1)
        outs = []
        for t in range(ids.size(1) - 1):
            h, c = self.cell(torch.cat([self.emb(ids[:, t]), ctx], -1), (h, c))
            ctx = self.attend(h, mem)
            outs.append(self.out(torch.cat([h, ctx], -1)))
        return torch.stack(outs, 1)


def accuracy(logits, ids):
    return (F.softmax(logits, -1).argmax(-1) == ids[:, 1:]).float().mean()


def train(listener, speller, loader, opt):
    acc = loss_sum = 0.0
    micro = []
    for i, (x, ids) in enumerate(loader):
        logits = speller(listener(x.cuda()), ids.cuda())
        micro.append(F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten().cuda()))
        acc += accuracy(logits, ids.cuda()).item()
        if len(micro) == 8:
            loss = torch.stack(micro).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss_sum += loss.item()
            micro.clear()
    return loss_sum, acc
