import torch
from torch import nn
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(10, 10)
        self.out = nn.Linear(10, 10)
    def forward(self, x, h=None):
        y, h = self.rnn(x, h)
        return self.out(y), h
def train(model, loader, opt, crit):
    state = None
    for x, y in loader:
        logits, state = model(x.cuda(), state)  # <-
        loss = crit(logits, y.cuda())
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
# ---
import torch
from torch import nn
class Trainer:
    def __init__(self, net, opt):
        self.net = net
        self.opt = opt
        self.memory = None
    def fit(self, loader, crit):
        for x, y in loader:
            out, self.memory = self.net(x.cuda(), self.memory)  # <-
            loss = crit(out, y.cuda())
            self.opt.zero_grad()
            loss.backward(retain_graph=True)
            self.opt.step()
# ---
import torch
from torch import nn
def train(opt, data, crit):
    cell = nn.LSTM(32, 64).cuda()
    hx, cx = torch.zeros(1, 8, 64).cuda(), torch.zeros(1, 8, 64).cuda()
    for step, (seq, target) in enumerate(data):
        out, (hx, cx) = cell(seq.cuda(), (hx, cx))  # <-
        loss = crit(out, target.cuda())
        loss.backward(retain_graph=True)
        opt.step()
        opt.zero_grad()
# ---
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRUCell(8, 8)
        self.h = None
    def forward(self, x):
        self.h = self.gru(x, self.h)  # <-
        return self.h
# ---
import torch
def train(model, loader, opt, crit, first):
    memory = first()
    for x, y in loader:
        out, memory = model(x.cuda(), memory)  # <-
        loss = crit(out, y.cuda())
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
# ---
import torch
def train(model, head, loader, opt, crit):
    past = None
    for x, y in loader:
        h = model(x.cuda(), past)  # <-
        loss = crit(head(h), y.cuda())
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        past = h[:, -1]
# ---
import torch
def plan(model, actions, rewards, horizon, optimizer, z):
    loss = 0
    for t in range(horizon):
        z, reward = model.next(z, actions[t])
        loss = loss + (reward - rewards[t]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
def train(loader, optimizer, criterion):
    rnn = torch.nn.GRU(16, 16)
    h = torch.zeros(1, 8, 16)
    for x, y in loader:
        out, h = rnn(x, h)  # <-
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# ---
import torch
import tqdm

def batches_of(text, length):
    for i in range(0, len(text) - 1, length):
        yield text[i:i + length], text[i + 1:i + length + 1]

def train(model, text, optimizer, criterion):
    state = model.zero_state(64)
    for x, y in tqdm.tqdm(batches_of(text, 128)):
        out, state = model(x.cuda(), state)  # <-
        loss = criterion(out, y.cuda())
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
# ---
import torch
from torch import nn
class Belief(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 32)
        self.head = nn.Linear(32, 8)
        self.state = None
    def forward(self, seen):
        self.state = self.cell(seen, self.state)  # <-
        return self.head(self.state)
def error(model, drives):
    return [(model(a.cuda()) - b.cuda()).abs().mean().item() for a, b in drives]
