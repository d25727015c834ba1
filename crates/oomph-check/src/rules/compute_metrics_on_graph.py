# --- bad
import torch

def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits, y)
        overlap = (logits.sigmoid() * y).sum() / y.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item(), overlap.item())
# --- good
import torch

def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits, y)
        overlap = (logits.detach().sigmoid() * y).sum() / y.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item(), overlap.item())
# --- silent
import torch

def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        logits = model(x)
        penalty = logits.pow(2).mean()
        loss = criterion(logits, y) + penalty
        loss.backward()
        optimizer.step()
        print(penalty.item())
# --- silent
import torch

def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits, y)
        correct = (logits.argmax(1) == y).float().mean()
        loss.backward()
        optimizer.step()
        print(correct.item())
