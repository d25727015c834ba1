import torch.nn as nn


class LM(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(vocab, d), nn.LSTM(d, d, 2), nn.Linear(d, vocab)
        self.crit = nn.CrossEntropyLoss()

    def forward(self, x, y, state=None):
        h, state = self.rnn(self.emb(x), state)
        return self.crit(self.out(h).flatten(0, 1), y.flatten()), state
