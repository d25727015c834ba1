# --- bad
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        scaler = torch.amp.GradScaler('cuda')
        with torch.autocast('cuda'):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# --- good
import torch

def train(model, train_loader, optimizer, criterion):
    scaler = torch.amp.GradScaler('cuda')
    for x, y in train_loader:
        with torch.autocast('cuda'):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# --- bad
import torch

def train(model, train_loader, optimizer, criterion):
    scaler = torch.amp.GradScaler('cuda')
    for x, y in train_loader:
        with torch.autocast('cuda'):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
# --- good
import torch

def train(model, train_loader, optimizer, criterion):
    scaler = torch.amp.GradScaler('cuda')
    for x, y in train_loader:
        with torch.autocast('cuda'):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# --- bad
import torch

def train(model, train_loader, optimizer, criterion):
    scaler = torch.amp.GradScaler('cuda')
    for x, y in train_loader:
        with torch.autocast('cuda', dtype=torch.bfloat16):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# --- good
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        with torch.autocast('cuda', dtype=torch.bfloat16):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# --- bad
import torch

def train(model, train_loader, criterion):
    model = model.half().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler('cuda')
    for x, y in train_loader:
        loss = criterion(model(x.half()), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# --- good
import torch

def train(model, train_loader, criterion):
    model = model.cuda()
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler('cuda')
    for x, y in train_loader:
        with torch.autocast('cuda'):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# --- silent
import torch

def folds(make, loaders, criterion):
    for fold in range(5):
        model = make()
        scaler = torch.amp.GradScaler('cuda')
        fit(model, loaders[fold], scaler)
# --- silent
import torch

def train(model, train_loader, optimizer, criterion, dtype):
    scaler = torch.amp.GradScaler('cuda', enabled=dtype == torch.float16)
    for x, y in train_loader:
        with torch.autocast('cuda', dtype=torch.bfloat16):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# --- silent
import torch

def train(model, train_loader, optimizer, criterion, scaler, finish):
    for x, y in train_loader:
        with torch.autocast('cuda'):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        finish(scaler)
# --- silent
import torch

def train(model, teacher, train_loader, criterion):
    teacher = teacher.half()
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler('cuda')
    for x, y in train_loader:
        with torch.autocast('cuda'):
            loss = criterion(model(x), teacher(x))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
