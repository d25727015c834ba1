# --- bad
import torch

def train(model, train_loader, criterion, epochs):
    for epoch in range(epochs):
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3 * 0.9**epoch)
        for x, y in train_loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
# --- good
import torch

def train(model, train_loader, criterion, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for epoch in range(epochs):
        for x, y in train_loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        decay.step()
# --- bad
import torch

def train(model, train_loader, criterion):
    for x, y in train_loader:
        optimizer = torch.optim.AdamW(model.parameters())
        criterion(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
# --- good
import torch

def train(model, train_loader, criterion):
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in train_loader:
        criterion(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
# --- silent
import torch

def cross_validate(make, loaders, criterion):
    for fold in range(5):
        model = make()
        optimizer = torch.optim.Adam(model.parameters())
        fit(model, optimizer, loaders[fold], criterion)
# --- silent
import torch

def attack(model, loader, steps):
    for x, y in loader:
        delta = torch.zeros_like(x, requires_grad=True)
        optimizer = torch.optim.Adam([delta])
        for _ in range(steps):
            optimizer.zero_grad()
            (-model(x + delta)[y]).sum().backward()
            optimizer.step()
# --- silent
import torch

def train(model, loader, epochs):
    for epoch in range(epochs):
        if epoch == 10:
            model.unfreeze()
            optimizer = torch.optim.Adam(model.parameters())
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
# --- silent
import torch

def adapt(model, loader, start):
    for x, y in loader:
        model.load_state_dict(start)
        optimizer = torch.optim.Adam(model.parameters())
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
# --- silent
import torch

def train(model, loader, epochs):
    for epoch in range(epochs):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1 / (epoch + 1))
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
