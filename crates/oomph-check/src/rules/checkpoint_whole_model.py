# --- bad
from torch.utils.checkpoint import checkpoint

def step(model, x, y, criterion):
    out = checkpoint(model, x, use_reentrant=False)
    criterion(out, y).backward()
# --- good
from torch.utils.checkpoint import checkpoint

def step(model, x, y, criterion):
    for block in model.blocks:
        x = checkpoint(block, x, use_reentrant=False)
    criterion(model.head(x), y).backward()
# --- bad
from torch import nn
from torch.utils.checkpoint import checkpoint

class Saving(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return checkpoint(self.model, x, use_reentrant=False)
# --- good
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

class Saving(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return checkpoint_sequential(self.layers, 8, x, use_reentrant=False)
# --- silent
from torch.utils.checkpoint import checkpoint

def forward(self, x):
    for model in self.models:
        x = checkpoint(model, x, use_reentrant=False)
    return x
# --- silent
from torch.utils.checkpoint import checkpoint

def forward(self, x):
    x = checkpoint(self.encoder, x, use_reentrant=False)
    return checkpoint(self.decoder, x, use_reentrant=False)
