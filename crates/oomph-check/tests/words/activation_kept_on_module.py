import torch
from torch import nn
class Attn(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
    def forward(self, x):
        a = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2), -1)
        self.attn_map = a  # <-
        return a @ x
# ---
import torch
from torch import nn
class Spectrogram(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Linear(8, 8)
    def forward(self, x):
        logits = self.seq(x)
        self.magnitude = torch.sigmoid(logits)
        return logits, self.magnitude
class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
    def forward(self, x):
        x = self.first(x)
        self.vector = x  # <-
        x = self.second(torch.relu(x))
        return x
# ---
import torch
from torch import nn
from torch.nn import functional as F

class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.second = nn.Conv2d(8, 8, 3)
        self.head = nn.Conv2d(8, 2, 1)
    def forward(self, x, y):
        self.middle = self.second(self.first(x))  # <-
        return F.cross_entropy(self.head(self.middle), y)
# ---
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(4)])
        self.head = nn.Linear(d, 2)
        self.last_hidden = None
    def forward(self, x):
        for l in self.layers:
            x = torch.relu(l(x))
        self.last_hidden = x  # <-
        return self.head(x)
def train(net, loader):
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(d, d), nn.ReLU())
        self.b = nn.Linear(d, d)
        self.cache = {}
    def forward(self, x):
        h = checkpoint(self.a, x, use_reentrant=False)
        self.cache["h"] = h  # <-
        return self.b(h)
# ---
import torch
from torch import nn
class Attn(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        self.attn = (q @ k.transpose(-1, -2)).softmax(-1)  # <-
        return self.attn @ v
# ---
import torch
from torch import nn
class AE(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.enc = nn.Linear(d, 8)
        self.dec = nn.Linear(8, d)
        self.z = None
        self.history = []
    def forward(self, x):
        z = self.enc(x)
        self.z, self.n = z, len(x)  # <-
        return self.dec(z)
# ---
import torch
from torch import nn
class AE(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.enc = nn.Linear(d, 8)
        self.dec = nn.Linear(8, d)
        self.zs = []
    def encode(self, x):
        self.feats = self.enc(x)  # <-
        return self.feats.relu()
    def forward(self, x):
        return self.dec(self.encode(x))
def train(net, loader):
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x in loader:
        loss = nn.functional.mse_loss(net(x.cuda()), x.cuda())
        opt.zero_grad(), loss.backward(), opt.step()
