# --- bad
import torch

def train(model, loader, optimizer, criterion, every):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / every
        loss.backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
# --- good
import torch

def train(model, loader, optimizer, criterion, every):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / every
        loss.backward()
        if (i + 1) % every == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
# --- bad
import torch

def train(model, loader, optimizer, criterion, every):
    waiting = 0
    for x, y in loader:
        loss = criterion(model(x), y) / every
        loss.backward()
        waiting += 1
        if waiting == every:
            optimizer.step()
            optimizer.zero_grad()
            waiting = 0
# --- good
import torch

def train(model, loader, optimizer, criterion, every):
    waiting = 0
    for x, y in loader:
        loss = criterion(model(x), y) / every
        loss.backward()
        waiting += 1
        if waiting == every:
            optimizer.step()
            optimizer.zero_grad()
            waiting = 0
    if waiting:
        optimizer.step()
        optimizer.zero_grad()
# --- bad
import torch
from tqdm import tqdm

for epoch in range(epochs):
    for step, batch in enumerate(tqdm(train_loader)):
        with torch.autocast('cuda'):
            loss = model(**batch).loss / accumulation
        scaler.scale(loss).backward()
        update = (step + 1) % accumulation == 0
        if update:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
    torch.save(model.state_dict(), 'last.pt')
# --- good
import torch
from tqdm import tqdm

for epoch in range(epochs):
    for step, batch in enumerate(tqdm(train_loader)):
        with torch.autocast('cuda'):
            loss = model(**batch).loss / accumulation
        scaler.scale(loss).backward()
        update = (step + 1) % accumulation == 0 or step + 1 == len(train_loader)
        if update:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
    torch.save(model.state_dict(), 'last.pt')
# --- silent
import torch

def train(model, loader, optimizer, criterion, every, epochs):
    waiting = 0
    for epoch in range(epochs):
        for x, y in loader:
            loss = criterion(model(x), y) / every
            loss.backward()
            waiting += 1
            if waiting == every:
                optimizer.step()
                optimizer.zero_grad()
                waiting = 0
# --- silent
import torch

def train(model, loader, optimizer, criterion, every):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / every
        loss.backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
    optimizer.step()
    optimizer.zero_grad()
# --- silent
import torch

def train(generator, critic, opt_g, opt_d, loader, n_critic):
    for i, (x, _) in enumerate(loader):
        opt_d.zero_grad()
        critic(x).mean().backward()
        opt_d.step()
        if i % n_critic == 0:
            opt_g.zero_grad()
            critic(generator(x)).mean().backward()
            opt_g.step()
# --- silent
import torch

def train(model, loader, optimizer, criterion, every, global_step):
    for x, y in loader:
        loss = criterion(model(x), y) / every
        loss.backward()
        global_step += 1
        if global_step % every == 0:
            optimizer.step()
            optimizer.zero_grad()
    return global_step
# --- silent
import torch

def train(model, loader, optimizer, criterion, every):
    last = len(loader) // every * every
    for i, (x, y) in enumerate(loader):
        if i >= last:
            break
        loss = criterion(model(x), y) / every
        loss.backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
# --- silent
import torch

def train(model, loader, optimizer, criterion, every):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if i % every == 0:
            print(loss.item())
