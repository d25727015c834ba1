from torch import nn


class Ranker(nn.Module):
    def __init__(self, d_in: int, width: int = 1024):
        super().__init__()
        self.act = self.leaky
        self.l1, self.l2, self.l3 = nn.Linear(d_in, width), nn.Linear(width, width), nn.Linear(width, 1)

    def leaky(self, x):
        return nn.functional.leaky_relu(x, 0.05)

    def forward(self, x):
        return self.l3(self.act(self.l2(self.act(self.l1(x))))).squeeze(-1)
