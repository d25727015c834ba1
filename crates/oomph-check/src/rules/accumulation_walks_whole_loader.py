# --- bad
import torch

def train(model, loader, optimizer, criterion, accumulation_steps):
    optimizer.zero_grad()
    for i in range(accumulation_steps):
        for x, y in loader:
            loss = criterion(model(x), y) / accumulation_steps
            loss.backward()
    optimizer.step()
# --- good
import torch

def train(model, loader, optimizer, criterion, accumulation_steps):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
# --- bad
import torch

for epoch in range(10):
    for micro in range(4):
        for batch_idx, (x, y) in enumerate(train_loader):
            out = model(x)
            loss = loss_fn(out, y) / 4
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
# --- good
import torch

for epoch in range(10):
    for batch_idx, (x, y) in enumerate(train_loader):
        out = model(x)
        loss = loss_fn(out, y) / 4
        loss.backward()
        if batch_idx % 4 == 3 or batch_idx + 1 == len(train_loader):
            optimizer.step()
            optimizer.zero_grad()
# --- silent
import torch

for epoch in range(10):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
# --- silent
import torch

for i in range(accumulation_steps):
    for x, y in train_loader:
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        break
optimizer.step()
# --- silent
import torch

data = iter(train_loader)
for i in range(accumulation_steps):
    x, y = next(data)
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
optimizer.step()
# --- silent
import torch

for i in range(10):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
