import torch
import torch.nn as nn
import torch.nn.functional as F


class CharLSTM(nn.Module):
    def __init__(self, vocab, dim=512):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)
        self.hidden = None

    def forward(self, ids):
        out, self.hidden = self.lstm(self.emb(ids), self.hidden)
        return self.head(out)


def train(net, batches, opt):
    net.train()
    for ids, nxt in batches:
        logits = net(ids.cuda())
        loss = F.cross_entropy(logits.flatten(0, 1), nxt.cuda().flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5)
        opt.step()
