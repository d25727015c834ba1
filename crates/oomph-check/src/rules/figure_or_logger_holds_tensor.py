# --- bad
import torch
import wandb

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        out = model(x.cuda())
        loss = criterion(out, y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        wandb.log({'outputs': out, 'loss': loss.item()})
# --- good
import torch
import wandb

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        out = model(x.cuda())
        loss = criterion(out, y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        wandb.log({'outputs': out.detach().cpu(), 'loss': loss.item()})
# --- bad
import torch
import matplotlib.pyplot as plt
from torchvision.models import resnet18

net = resnet18()
outputs = [net(x) for x in images]
plt.plot(outputs)
# --- good
import torch
import matplotlib.pyplot as plt
from torchvision.models import resnet18

net = resnet18()
outputs = [net(x).mean().item() for x in images]
plt.plot(outputs)
# --- silent
import torch

def train(model, loader, optimizer, criterion, writer):
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar('loss', loss, step)
# --- silent
import torch
import wandb

def evaluate(model, loader):
    with torch.no_grad():
        for x, _ in loader:
            wandb.log({'outputs': model(x.cuda())})
