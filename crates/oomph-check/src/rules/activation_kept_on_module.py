# --- bad
import torch
from torch import nn

class Gated(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.both = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        gate, value = self.both(x).chunk(2, -1)
        self.gate = gate.sigmoid()
        return self.gate * value
# --- good
import torch
from torch import nn

class Gated(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.both = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        gate, value = self.both(x).chunk(2, -1)
        gate = gate.sigmoid()
        return gate * value
# --- bad
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 64, 3)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.body(x)
        self.last_features = x
        return self.head(x.mean((2, 3)))
# --- good
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 64, 3)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.body(x)
        return self.head(x.mean((2, 3))), x
# --- silent
from torch import nn

class Shown(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.net = nn.Linear(8, 8)
        self.names = names

    def forward(self, x):
        self.shown_part = self.net(x)

    def visuals(self):
        return {name: getattr(self, name) for name in self.names}
# --- silent
import torch
from torch import nn

class Location(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(8, 8)

    def forward(self, x, t):
        if t == 0:
            self.total = torch.zeros_like(x)
        scores = (self.query(x) + self.total).softmax(-1)
        self.total = self.total + scores
        return scores
# --- silent
import torch
from torch import nn

class Peaks(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.size = size

    def forward(self, x):
        return torch.nn.functional.max_pool2d(x, self.size), x.mean()

class Loss(nn.Module):
    def __init__(self, peaks: Peaks):
        super().__init__()
        self.peaks = peaks

    def forward(self, y, out):
        best, mean = self.peaks(y.detach())
        self.best = best
        return (out - best).abs().mean() + mean
# --- silent
from torch import nn

class Net(nn.Module):
    def __init__(self, debug):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.debug = debug

    def forward(self, x):
        x = self.body(x)
        if self.debug:
            self.last = x
        return x
# --- silent
from torch import nn

class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 2)

    def forward(self, x):
        self.mu = self.enc(x)
        return self.mu

    def kl(self):
        return self.mu.pow(2).sum()
# --- silent
from torch import nn

class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.running = 0

    def forward(self, x):
        y = self.body(x)
        self.running = 0.9 * self.running + 0.1 * y.detach().mean()
        return y
# --- silent
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        self.tmp = self.body(x)
        out = self.tmp.relu()
        del self.tmp
        return out
# --- silent
import torch
from torch import nn

class Disparity(nn.Module):
    def __init__(self, pseudo_label_generator, criterion):
        super().__init__()
        self.pseudo_label_generator = pseudo_label_generator
        self.criterion = criterion

    def forward(self, y, y_adv):
        labels = self.pseudo_label_generator(y.detach())
        self.labels = labels
        return self.criterion(y_adv, labels)
