# --- bad
import torch
from torchvision.models import resnet18

model = resnet18().cuda()
features = []
for images, _ in loader:
    features.append(model(images.cuda()))
# --- good
import torch
from torchvision.models import resnet18

model = resnet18().cuda()
features = []
for images, _ in loader:
    features.append(model(images.cuda()).detach().cpu())
# --- bad
import torch

def fit(model, loader, optimizer, criterion):
    history = {'loss': []}
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history['loss'].append(loss)
    return history, model.state_dict()
# --- good
import torch

def fit(model, loader, optimizer, criterion):
    history = {'loss': []}
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history['loss'].append(loss.item())
    return history, model.state_dict()
# --- silent
import torch
from torchvision.models import resnet18

model = resnet18().cuda()
labels = []
for images, _ in loader:
    labels.append(torch.max(model(images.cuda()), dim=1).indices)
# --- silent
import torch
from torch import nn

net = nn.Linear(8, 2)
for x, y in loader:
    parts = []
    for chunk in x.chunk(4):
        parts.append(net(chunk))
    loss = torch.cat(parts).sum()
    loss.backward()
# --- silent
import torch
from torch import nn

net = nn.Linear(8, 2)
losses = []
for x, y in loader:
    losses.append((net(x) - y).pow(2).mean())
torch.stack(losses).mean().backward()
# --- silent
import torch
from collections import deque
from torch import nn

net = nn.Linear(8, 2)
recent = deque(maxlen=10)
for x, y in loader:
    recent.append(net(x))
# --- silent
import torch

class Agent:
    def update(self, states, actions, target):
        q_values = []
        for critic, optimizer in zip(self.critics, self.optimizers):
            q = critic(states, actions)
            q_values.append(q)
            loss = torch.nn.functional.mse_loss(q, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return torch.stack(q_values).mean().item()
# --- silent
import torch

def collect(net, loader):
    features = []
    for x, _ in loader:
        features.append(net(x.cuda()).cpu())
    return torch.cat(features).numpy()
# --- silent
import torch

def sequence_loss(model, inputs, targets, criterion):
    h = model.init_hidden(inputs.size(0))
    losses = []
    for t in range(inputs.shape[1]):
        out, h = model(inputs[:, t], h)
        losses.append(criterion(out, targets[:, t]))
    return torch.stack(losses).mean().item()
# --- silent
import torch

class Meter:
    def __init__(self):
        self.kept = []

    def update(self, value):
        if torch.is_tensor(value):
            value = value.item()
        self.kept.append(value)

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

def evaluate(model, val_loader):
    model.eval()
    tags = []
    for x, lengths in val_loader:
        paths = model(x.cuda())
        for i, path in enumerate(paths):
            tags += path[:lengths[i]]
    return tags
# --- silent
import torch
from torchvision.models import resnet18

model = resnet18().cuda()
result = {}
for images, target in loader:
    out = model(images.cuda())
    for key, metric in metrics.items():
        result[key] = out.mean()
# --- silent
import torch
from torch.utils.data import DataLoader
from torchvision.models import resnet18

def train(loader, optimizer, criterion):
    model = resnet18().cuda()
    for parts, target in loader:
        optimizer.zero_grad()
        vectors = []
        for part in DataLoader(parts):
            vectors.append(model(part.cuda()))
        loss = criterion(matcher.run(vectors), target)
        loss.backward()
        optimizer.step()
# --- silent
import torch

class Views:
    def outputs(self, views):
        kept = []
        for view in views:
            view = view.to(self.device)
            kept.append(self.encoder(view))
        self.kept = torch.stack(kept)
