import torch
from torch import nn


class SASBlock(nn.Module):
    def __init__(self, d, heads, p):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.mha = nn.MultiheadAttention(d, heads, dropout=p, batch_first=True)
        self.ff = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(p))

    def forward(self, x, causal):
        z = self.norm(x)
        att, _ = self.mha(z, z, z, attn_mask=causal)
        x = x + att
        return x + self.ff(x)


class SASRec(nn.Module):
    def __init__(self, items, d=128, heads=4, layers=3, maxlen=1024, p=0.2):
        super().__init__()
        self.item = nn.Embedding(items + 1, d, padding_idx=0)
        self.pos = nn.Embedding(maxlen, d)
        self.blocks = nn.ModuleList(SASBlock(d, heads, p) for _ in range(layers))
        self.register_buffer("causal", torch.ones(maxlen, maxlen, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, seq):
        n = seq.size(1)
        x = self.item(seq) + self.pos.weight[:n]
        for b in self.blocks:
            x = b(x, self.causal[:n, :n])
        return x


def train(model, loader, opt, epochs):
    for _ in range(epochs):
        for seq, pos, neg in loader:
            h = model(seq.cuda())
            sp = (h * model.item(pos.cuda())).sum(-1)
            sn = (h * model.item(neg.cuda())).sum(-1)
            loss = -(nn.functional.logsigmoid(sp - sn) * (pos.cuda() > 0)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
