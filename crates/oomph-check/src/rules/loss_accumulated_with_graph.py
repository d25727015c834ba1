# --- bad
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
total = 0
for x, y in val_loader:
    total += criterion(net(x), y)
# --- good
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
total = 0
with torch.no_grad():
    for x, y in val_loader:
        total += criterion(net(x), y)
# --- bad
import torch

def train(model, train_loader, optimizer, criterion):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss
    return running / len(train_loader)
# --- good
import torch

def train(model, train_loader, optimizer, criterion):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(train_loader)
# --- silent
import torch

def train(model, loader, optimizer, criterion):
    correct = 0
    for x, y in loader:
        loss, right = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += right
    return correct
# --- silent
import torch

def train(model, loader, optimizer):
    total = 0
    for x, y in loader:
        out = model(x)
        loss = torch.nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() if isinstance(loss, torch.Tensor) else loss
    return total
# --- silent
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
for x, y in train_loader:
    loss = 0
    for head in range(3):
        loss += criterion(net(x), y)
    loss.backward()
# --- silent
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
total = 0
for x, y in train_loader:
    loss = criterion(net(x), y)
    loss.backward()
    loss = loss.item()
    total += loss
# --- silent
import torch

def train(net, loader, optimizer, criterion):
    total = 0
    for x, y in loader:
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            total += loss
    return total / len(loader)
# --- silent
import torch
from torch import nn

class Stack(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, blocks, h):
        for layer, batch in zip(self.layers, blocks):
            h = layer(batch.to('cuda'), h)
        return h
# --- silent
import torch

def train(gen, disc, loader, opt_d, repeats):
    for mel, audio in loader:
        fake = gen(mel).detach()
        total = 0.0
        for _ in range(repeats):
            opt_d.zero_grad()
            loss = (disc(audio) - 1).pow(2).mean() + disc(fake).pow(2).mean()
            loss.backward()
            opt_d.step()
            total += loss
        print(total.item() / repeats)
# --- silent
import torch

class Trainer:
    def train_step(self, states, actions):
        if self.early_exit:
            logits, layers, energy = self.agent.network(states)
        else:
            logits = self.agent.network(states)
            energy = 0.0
        loss = torch.nn.functional.cross_entropy(logits, actions)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.energy_used += energy
# --- silent
import torch
from accelerate import Accelerator

def train(model, loader, optimizer, loss_fn):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    total = 0
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = loss_fn(model(x), y)
            total += loss / 4
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            print(total.item())
            total = 0
# --- silent
import torch

class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value):
        if isinstance(value, torch.Tensor):
            value = value.item()
        self.sum += value

def train(model, loader, optimizer, criterion):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)
# --- silent
import torch

class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value):
        if not isinstance(value, (int, float)):
            value = value.item()
        self.sum += value

def train(model, loader, optimizer, criterion):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)
# --- silent
import torch

class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value):
        if type(value) is torch.Tensor:
            value = value.detach()
        self.sum += value

def train(model, loader, optimizer, criterion):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)
# --- silent
import torch

class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value):
        try:
            value = value.item()
        except AttributeError:
            pass
        self.sum += value

def train(model, loader, optimizer, criterion):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)
# --- silent
import torch

class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value):
        with torch.no_grad():
            self.sum += value

def train(model, loader, optimizer, criterion):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)
# --- silent
import torch

class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value):
        self.sum += to_number(value)

def train(model, loader, optimizer, criterion):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)
# --- silent
import torch
from torch import autograd

class Masked:
    def update(self, minibatches, optimizer):
        total = 0
        logits = self.network(torch.cat([x for x, _ in minibatches]))
        for i, (x, y) in enumerate(minibatches):
            loss = torch.nn.functional.cross_entropy(logits[i:i + 8], y)
            total += loss
            grads = autograd.grad(loss, self.network.parameters(), retain_graph=True)
            self.mask(grads)
        optimizer.step()
        return total.item()
