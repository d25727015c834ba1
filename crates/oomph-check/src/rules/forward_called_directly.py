# --- bad
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)

    def forward(self, x):
        return self.encoder.forward(x)
# --- good
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)

    def forward(self, x):
        return self.encoder(x)
# --- silent
from torch import nn

class Net(nn.Linear):
    def forward(self, x):
        return super().forward(x).relu()

class Other(nn.Linear):
    def forward(self, x):
        return nn.Linear.forward(self, x)

    def features(self, x):
        return self.forward(x)
