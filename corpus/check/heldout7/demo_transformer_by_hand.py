"""Demo for the lecture: gradient descent on a transformer without torch.optim."""
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, d=512, h=8):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        y = self.n1(x)
        a, _ = self.attn(y, y, y)
        x = x + a
        return x + self.mlp(self.n2(x))


class Tiny(nn.Module):
    def __init__(self, vocab=256, d=512, depth=8, ctx=2048):
        super().__init__()
        self.emb, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.blocks = nn.Sequential(*[Block(d) for _ in range(depth)])
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        x = self.emb(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.blocks(x))


raw = torch.frombuffer(bytearray(open("shakespeare.txt", "rb").read()), dtype=torch.uint8).long()
net = Tiny().cuda()
lr = 3e-3
for step in range(2000):
    i = torch.randint(len(raw) - 2049, (8,))
    batch = torch.stack([raw[j:j + 2049] for j in i]).cuda()
    logits = net(batch[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= lr * p.grad
            p.grad.zero_()
    if step % 50 == 0:
        print(step, loss.item())
