import torch
def train(net, loader, crit):
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        with torch.autocast("cuda"):
            loss = crit(net(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)  # <-
        scaler.update()
# ---
import torch
class T:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), 0.1)
    def fit(self, loader, crit):
        for epoch in range(3):
            for x, y in loader:
                loss = crit(self.net(x), y)
                loss.backward()
                self.opt.step()  # <-
# ---
import torch
from torch import nn
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(1000):
    x, y = get_batch()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()  # <-
# ---
import torch
def step(net, opt, x, y, crit):
    loss = crit(net(x), y)
    loss.backward()
    opt.step()  # <-
    return loss.item()
def train(net, loader, crit):
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in loader:
        print(step(net, opt, x, y, crit))
# ---
import torch
class Attack:
    def __init__(self, model, optimizer, steps=1):
        self.model, self.optimizer, self.steps = model, optimizer, steps
    def perturb(self):
        for param in self.model.parameters():
            if param.grad is not None:
                param.data.add_(param.grad / param.grad.norm())
    def attack_backward(self, x, label):
        for _ in range(self.steps):
            self.perturb()
            loss = self.model(x, label)
            loss.backward()
            self.optimizer.step()
class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())
    def fit(self, loader):
        for x, y in loader:
            loss = self.model(x, y)
            loss.backward()
            self.optimizer.step()  # <-
# ---
import torch
class ScheduledOptim:
    def __init__(self, inner):
        self.inner = inner
    def step(self):
        self.inner.step()
        self.inner.zero_grad()
def train(model, loader, optimizer, criterion):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
def fit(model, loader, criterion):
    plain = torch.optim.Adam(model.parameters())
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        plain.step()  # <-
# ---
import torch
def train(model, loader, opt):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()  # <-
