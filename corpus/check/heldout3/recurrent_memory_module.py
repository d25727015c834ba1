import torch
import torch.nn as nn
import torch.nn.functional as F


class MemoryReader(nn.Module):
    """Keeps a memory over the segments of a long document."""

    def __init__(self, dim, slots=32, heads=8):
        super().__init__()
        self.init = nn.Parameter(torch.randn(slots, dim) * 0.02)
        self.read = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.write = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.cell = nn.GRUCell(dim, dim)
        self.memory = None

    def reset(self, batch):
        self.memory = self.init.expand(batch, -1, -1)

    def forward(self, seg):
        read, _ = self.read(seg, self.memory, self.memory)
        upd, _ = self.write(self.memory, seg, seg)
        b, s, d = upd.shape
        new = self.cell(upd.reshape(-1, d), self.memory.reshape(-1, d)).view(b, s, d)
        self.memory = new
        return seg + read


class Model(nn.Module):
    def __init__(self, vocab=32000, dim=512):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.reader = MemoryReader(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.reader(self.emb(ids)))


def train_documents(model, documents, opt, seg_len=512):
    for ids in documents:
        ids = ids.cuda()
        model.reader.reset(ids.size(0))
        opt.zero_grad()
        for seg in ids.split(seg_len, dim=1):
            logits = model(seg[:, :-1])
            loss = F.cross_entropy(logits.transpose(1, 2), seg[:, 1:])
            loss.backward(retain_graph=True)
        opt.step()
