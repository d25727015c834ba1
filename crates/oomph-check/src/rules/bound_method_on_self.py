# --- bad
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, fast):
        super().__init__()
        self.lin = nn.Linear(1024, 1024)
        self.act = self.fast_gelu if fast else self.gelu

    def gelu(self, x):
        return torch.nn.functional.gelu(x)

    def fast_gelu(self, x):
        return x * torch.sigmoid(1.702 * x)
# --- good
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, fast):
        super().__init__()
        self.lin = nn.Linear(1024, 1024)
        self.fast = fast

    def act(self, x):
        return self.fast_gelu(x) if self.fast else self.gelu(x)

    def gelu(self, x):
        return torch.nn.functional.gelu(x)

    def fast_gelu(self, x):
        return x * torch.sigmoid(1.702 * x)
# --- silent
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.functional.gelu
        self.norm = self.make_norm()

    def make_norm(self):
        return nn.LayerNorm(8)
# --- silent
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = Block.gelu

    @staticmethod
    def gelu(x):
        return x
# --- silent
import torch

class Runner:
    def __init__(self):
        self.run = self.run_fast

    def run_fast(self):
        return torch.zeros(3)
