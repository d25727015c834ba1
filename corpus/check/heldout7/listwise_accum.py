import torch
import torch.nn as nn

from lists import query_batches

GRAD_ACCUM = 32


def list_net_loss(scores, rel):
    return -(rel.softmax(-1) * scores.log_softmax(-1)).sum(-1).mean()


class Scorer(nn.Module):
    def __init__(self, d=768):
        super().__init__()
        enc = nn.TransformerEncoderLayer(d, 8, 2048, batch_first=True)
        self.enc = nn.TransformerEncoder(enc, 6)
        self.out = nn.Linear(d, 1)

    def forward(self, feats):
        return self.out(self.enc(feats)).squeeze(-1)


def train(epochs=5):
    net = Scorer().cuda()
    opt = torch.optim.AdamW(net.parameters(), 2e-5)
    step, pending = 0, 0.0
    for _ in range(epochs):
        for feats, rel in query_batches("train", lists=16, length=200):
            loss = list_net_loss(net(feats.cuda()), rel.cuda())
            pending = pending + loss / GRAD_ACCUM
            step += 1
            if step % GRAD_ACCUM == 0:
                opt.zero_grad()
                pending.backward()
                opt.step()
                pending = 0.0
    return net


if __name__ == "__main__":
    torch.save(train().state_dict(), "scorer.pt")
