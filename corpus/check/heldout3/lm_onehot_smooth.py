"""Label smoothing for a translation model, after the paper's formula."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 50_257


class SmoothedLoss(nn.Module):
    def __init__(self, vocab=VOCAB, eps=0.1, pad=0):
        super().__init__()
        self.vocab, self.eps, self.pad = vocab, eps, pad

    def forward(self, logits, target):
        target = target.reshape(-1)
        logp = F.log_softmax(logits.reshape(-1, self.vocab), dim=-1)
        truth = F.one_hot(target, self.vocab).float()
        truth = truth * (1 - self.eps) + self.eps / self.vocab
        loss = -(truth * logp).sum(-1)
        return loss[target != self.pad].mean()


class Seq2Seq(nn.Module):
    def __init__(self, dim=512, layers=6):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.net = nn.Transformer(dim, 8, layers, layers, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1), device=tgt.device)
        return self.out(self.net(self.emb(src), self.emb(tgt), tgt_mask=mask, tgt_is_causal=True))


def train(loader, epochs=10):
    model, crit = Seq2Seq().cuda(), SmoothedLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for epoch in range(epochs):
        for src, tgt in loader:
            src, tgt = src.cuda(), tgt.cuda()
            loss = crit(model(src, tgt[:, :-1]), tgt[:, 1:])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())
