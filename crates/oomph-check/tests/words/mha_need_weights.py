from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.MultiheadAttention(dim, 4)

    def forward(self, x):
        x = x.unsqueeze(1)
        out, _ = self.mix(x, x, x)  # <-
        return out.squeeze(1)
# ---
from torch import nn


class Pool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.MultiheadAttention(dim, 4, batch_first=True)

    def forward(self, probe, x):
        out, _ = self.mix(probe.unsqueeze(1), x, x)  # <-
        return out.squeeze(1)
