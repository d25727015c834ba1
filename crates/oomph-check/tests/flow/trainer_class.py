"""A trainer whose parts live on self."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 2)

    def forward(self, x):
        return F.relu(self.fc(x))


class AverageMeter:
    def __init__(self):
        self.sum = 0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n  # <- loss-accumulated-with-graph
        self.count += n


class Trainer:
    def __init__(self, dataset):
        self.model = Net().cuda()
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.train_data = DataLoader(dataset)
        self.val_data = DataLoader(dataset)
        self.outputs = []
        self.total = 0.0

    def train_epoch(self):
        self.model.train()
        meter = AverageMeter()
        for x, y in self.train_data:
            out = self.model(x.cuda())
            loss = F.cross_entropy(out, y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            meter.update(loss)  # <- loss-accumulated-with-graph
            self.total += loss  # <- loss-accumulated-with-graph
            self.history = loss.item()

    def collect(self):
        for x, y in self.val_data:
            out = self.model(x)
            self.outputs.append(out)  # <- tensor-stored-in-container-with-graph

    def collect_detached(self):
        for x, y in self.val_data:
            out = self.model(x)
            self.outputs.append(out.detach().cpu())

    def validate(self):
        self.model.eval()
        for x, y in self.val_data:  # <- eval-loop-without-no-grad
            pred = self.model(x).argmax(1)
            print(pred)

    @torch.no_grad()
    def validate_right(self):
        self.model.eval()
        for x, y in self.val_data:
            self.outputs.append(self.model(x))

    def run(self):
        for _ in range(10):
            self.train_epoch()
            with torch.no_grad():
                self.check()

    def check(self):
        self.model.eval()
        for x, y in self.val_data:
            print(self.model(x))
