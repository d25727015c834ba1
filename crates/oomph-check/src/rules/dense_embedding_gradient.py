# --- bad
from torch import nn

users = nn.Embedding(50_000_000, 64)
# --- good
from torch import nn

users = nn.Embedding(50_000_000, 64, sparse=True)
# --- bad
from torch import nn

class Items(nn.Module):
    def __init__(self, items=20_000_000, width=64):
        super().__init__()
        self.table = nn.Embedding(items, width)
# --- good
from torch import nn

class Items(nn.Module):
    def __init__(self, items=20_000_000, width=64):
        super().__init__()
        self.table = nn.Embedding(items, width, sparse=True)
# --- silent
from torch import nn

words = nn.Embedding(50_257, 768)
users = nn.Embedding(num_users, 64)
