"""Character language model with truncated backpropagation (or so it was meant)."""
import sys

import torch
import torch.nn as nn


class CharLSTM(nn.Module):
    def __init__(self, vocab, emb=256, hidden=1024, layers=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.LSTM(emb, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        y, state = self.rnn(self.emb(x), state)
        return self.out(y), state


def batches(ids, batch, length):
    n = len(ids) // batch
    data = ids[: n * batch].view(batch, n)
    for i in range(0, n - 1, length):
        stop = min(i + length, n - 1)
        yield data[:, i:stop], data[:, i + 1:stop + 1]


def main(paths):
    """One optimizer step a book; the books are cut into pieces of 128 characters."""
    texts = [open(p, encoding="utf8").read() for p in paths]
    chars = sorted(set("".join(texts)))
    table = {c: i for i, c in enumerate(chars)}
    books = [torch.tensor([table[c] for c in t]) for t in texts]
    model = CharLSTM(len(chars)).cuda()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(10):
        for ids in books:
            state = None
            opt.zero_grad()
            for x, y in batches(ids, 64, 128):
                logits, state = model(x.cuda(), state)
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.cuda().flatten())
                loss.backward(retain_graph=True)
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main(sys.argv[1:])
