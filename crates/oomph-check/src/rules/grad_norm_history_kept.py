# --- bad
import torch

def train(model, train_loader, optimizer, criterion):
    norms = []
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        optimizer.step()
    return norms
# --- good
import torch

def train(model, train_loader, optimizer, criterion):
    norms = []
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
        optimizer.step()
    return norms
# --- bad
from torch.nn.utils import clip_grad_norm_

class Trainer:
    def __init__(self, model):
        self.model = model
        self.history = {'norm': []}

    def epoch(self, train_loader):
        for x, y in train_loader:
            self.model(x).sum().backward()
            norm = clip_grad_norm_(self.model.parameters(), 1.0)
            self.history['norm'].append(norm)
# --- good
from torch.nn.utils import clip_grad_norm_

class Trainer:
    def __init__(self, model):
        self.model = model
        self.history = {'norm': []}

    def epoch(self, train_loader):
        for x, y in train_loader:
            self.model(x).sum().backward()
            norm = clip_grad_norm_(self.model.parameters(), 1.0)
            self.history['norm'].append(float(norm))
# --- silent
import torch

def train_critic(critic, optimizer, rewards, log):
    norms = []
    for t in reversed(range(rewards.size(1))):
        loss = critic(rewards[:, t]).sum()
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0))
        optimizer.step()
    log(sum(norms) / len(norms))
# --- silent
import torch

def train(model, train_loader):
    for x, y in train_loader:
        norms = []
        for part in model.children():
            norms.append(torch.nn.utils.clip_grad_norm_(part.parameters(), 1.0))
        print(max(norms))
# --- silent
import torch
from collections import deque

def train(model, train_loader):
    norms = deque(maxlen=100)
    for x, y in train_loader:
        model(x).sum().backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
# --- silent
import torch

def train(model, train_loader):
    total = 0
    for x, y in train_loader:
        model(x).sum().backward()
        total += torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
# --- silent
import torch

def train(model, train_loader):
    norms = []
    for i, (x, y) in enumerate(train_loader):
        model(x).sum().backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        if i % 100 == 0:
            print(torch.stack(norms).mean().item())
            norms.clear()
