from torch import nn


class Tagger(nn.Module):
    def __init__(self, mel=80, dim=256, tags=40):
        super().__init__()
        self.rnn = nn.GRU(mel, dim, num_layers=3, batch_first=True)
        self.head = nn.Linear(dim, tags)

    def forward(self, mel, h=None):
        y, h = self.rnn(mel, h)
        return self.head(y), h
