# Homework: character RNN on surnames. Hidden state is passed along the batches
# because the file is one long text.
import argparse
import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("text")
p.add_argument("--hidden", type=int, default=512)
p.add_argument("--bptt", type=int, default=100)
p.add_argument("--bs", type=int, default=64)
args = p.parse_args()

device = torch.device("cuda")
raw = open(args.text, encoding="utf8").read()
chars = sorted(set(raw))
lookup = {c: i for i, c in enumerate(chars)}
data = torch.tensor([lookup[c] for c in raw])
n = len(data) // args.bs
data = data[: n * args.bs].view(args.bs, n)


class CharModel(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, 64)
        self.rnn = nn.GRU(64, hidden, num_layers=2, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, state):
        y, state = self.rnn(self.emb(x), state)
        return self.out(y), state


def chunks():
    for i in range(0, n - 1 - args.bptt, args.bptt):
        yield data[:, i:i + args.bptt], data[:, i + 1:i + 1 + args.bptt]


model = CharModel(len(chars), args.hidden).to(device)
optim = torch.optim.Adam(model.parameters(), 2e-3)
crit = nn.CrossEntropyLoss()
for epoch in range(10):
    state = torch.zeros(2, args.bs, args.hidden, device=device)
    for x, y in chunks():
        x, y = x.to(device), y.to(device)
        logits, state = model(x, state)
        loss = crit(logits.transpose(1, 2), y)
        optim.zero_grad()
        # without retain_graph it says "Trying to backward through the graph a second time"
        loss.backward(retain_graph=True)
        optim.step()
    print(epoch, loss.item())
