import torch
ALL_OUT = []
def record(o):
    ALL_OUT.append(o)  # <-
def run(model, loader):
    for x, _ in loader:
        record(model(x.cuda()))
# ---
import torch
class Bank:
    memory = []
    def push(self, z):
        Bank.memory.append(z)  # <-
def run(model, loader):
    b = Bank()
    for x, _ in loader:
        b.push(model(x.cuda()))
# ---
import torch
class Net(torch.nn.Module):
    activations = []
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
    def forward(self, x):
        y = self.fc(x)
        self.activations.append(y)  # <-
        return y
