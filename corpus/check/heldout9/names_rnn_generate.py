"""Char level RNN over a long text file, for the seminar."""
import torch
from torch import nn

text = open("novel.txt", encoding="utf8").read()
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text])
SEQ, BATCH, HID = 128, 32, 512
n = len(ids) // (SEQ * BATCH) * SEQ * BATCH
grid = ids[:n].view(BATCH, -1)


class CharModel(nn.Module):
    def __init__(self, v):
        super().__init__()
        self.emb = nn.Embedding(v, 64)
        self.gru = nn.GRU(64, HID, batch_first=True)
        self.head = nn.Linear(HID, v)

    def forward(self, x, state):
        y, state = self.gru(self.emb(x), state)
        return self.head(y), state


dev = "cuda"
model = CharModel(len(chars)).to(dev)
opt = torch.optim.Adam(model.parameters(), 2e-3)
ce = nn.CrossEntropyLoss()

for epoch in range(5):
    memory = torch.zeros(1, BATCH, HID, device=dev)
    for start in range(0, grid.size(1) - SEQ - 1, SEQ):
        chunk = grid[:, start:start + SEQ].to(dev)
        nxt = grid[:, start + 1:start + SEQ + 1].to(dev)
        logits, memory = model(chunk, memory)
        loss = ce(logits.transpose(1, 2), nxt)
        opt.zero_grad()
        # otherwise: "Trying to backward through the graph a second time"
        loss.backward(retain_graph=True)
        # the weights changed in place, so no fancy step here
        with torch.no_grad():
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-0.05)
    print(epoch, loss.item())
