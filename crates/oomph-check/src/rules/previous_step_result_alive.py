# --- bad
import torch

def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# --- good
import torch

def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del logits, loss
# --- silent
import torch

def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
    return logits, loss.item()
# --- silent
import torch

def step(model, optimizer, criterion, x, y):
    logits = model(x)
    loss = criterion(logits, y)
    loss.backward()
    optimizer.step()

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        step(model, optimizer, criterion, x, y)
