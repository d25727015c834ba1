# --- bad
import torch

def train(model, loader, optimizer, criterion, every):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y) / every
        loss.backward()
        if (i + 1) % every == 0:
            optimizer.step()
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
# --- silent
import torch

def private_step(model, xs, ys, optimizer, criterion):
    for batch in range(10):
        for x, y in zip(xs, ys):
            criterion(model(x), y).backward()
            for p in model.parameters():
                p.samples.append(p.grad.detach().clone())
            model.zero_grad()
        for p in model.parameters():
            p.grad = sum(p.samples)
        optimizer.step()
# --- silent
import torch

def train(net_g, net_d, opt_g, opt_d, loader, criterion, every):
    for i, (x, y) in enumerate(loader):
        opt_d.zero_grad()
        criterion(net_d(x), y).backward()
        opt_d.step()
        criterion(net_g(x), y).backward()
        if i % every == 0:
            opt_g.step()
            opt_g.zero_grad()
# --- silent
import torch

def train(model, loader, optimizer, memories, criterion):
    for x, y in loader:
        for task in range(len(memories)):
            out = model(memories[task])
            optimizer.zero_grad()
            criterion(out, y).backward()
            store_grad(model, task)
        project(model)
        optimizer.step()
