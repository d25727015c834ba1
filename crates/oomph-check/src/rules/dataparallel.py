# --- bad
import torch
from torch import nn

def fit(net, loader, criterion):
    net = nn.DataParallel(net).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x.cuda()), y.cuda()).backward()
        optimizer.step()
# --- good
import torch
from torch.nn.parallel import DistributedDataParallel

def fit(net, loader, criterion, rank):
    torch.cuda.set_device(rank)
    net = DistributedDataParallel(net.cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x.cuda()), y.cuda()).backward()
        optimizer.step()
# --- bad
import torch

class Trainer:
    def __init__(self, model, gpus):
        self.model = torch.nn.DataParallel(model, device_ids=gpus).to('cuda')
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def step(self, batch):
        self.optimizer.zero_grad()
        self.model(batch).mean().backward()
        self.optimizer.step()
# --- good
import torch

class Trainer:
    def __init__(self, model, rank):
        torch.cuda.set_device(rank)
        self.model = torch.nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[rank])
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def step(self, batch):
        self.optimizer.zero_grad()
        self.model(batch).mean().backward()
        self.optimizer.step()
# --- silent
import torch

def fit(model, model_ref, loader, optimizer):
    model_ref = torch.nn.DataParallel(model_ref)
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    return masks(model_ref)
# --- silent
import torch

class Trainer:
    def __init__(self, model, gpus):
        self.optimizer = torch.optim.Adam(model.parameters())
        self.optimizer = torch.nn.DataParallel(self.optimizer, device_ids=gpus)

    def step(self, model, batch):
        self.optimizer.module.zero_grad()
        model(batch).mean().backward()
        self.optimizer.module.step()
# --- silent
import torch
from nets import Joint, Single

def build(tasks):
    parts = {}
    for task in tasks:
        model = torch.nn.DataParallel(Single(task))
        model.load_state_dict(torch.load(task, map_location='cpu'))
        parts[task] = model.module.backbone
    model = Joint(parts)
    return model

def fit(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
# --- silent
import torch

def fit_head(model, head, loader, optimizer, criterion):
    model.encoder = torch.nn.DataParallel(model.encoder)
    for x, y in loader:
        with torch.no_grad():
            features = model.encoder(x.cuda())
        loss = criterion(head(features), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# --- silent
import torch

class Runner:
    def fit(self, model, loader, optimizer):
        for x, y in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()

    def sample(self, model, path):
        model.load_state_dict(torch.load(path, map_location='cpu'))
        model = torch.nn.DataParallel(model)
        model.eval()
        return draw(model)
# --- silent
import torch

def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

def validate(model, loader):
    model = torch.nn.DataParallel(model)
    with torch.no_grad():
        for x, y in loader:
            report(model(x), y)
# --- silent
import torch

def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

model = Net()
train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
model = torch.nn.DataParallel(model)
evaluate(model, test_loader)
# --- silent
import os
import torch

os.environ['CUDA_VISIBLE_DEVICES'] = '0'

def fit(net, loader, optimizer):
    net = torch.nn.DataParallel(net)
    for x, y in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# --- silent
import torch

def fit(net, loader, optimizer, n_gpu):
    if n_gpu == 1:
        net = torch.nn.DataParallel(net).cuda(device=0)
    for x, y in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# --- silent
import torch
from torch.utils.data import DataLoader

def fit(net, data, optimizer):
    net = torch.nn.DataParallel(net)
    for x, y in DataLoader(data, batch_size=1, shuffle=True):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# --- silent
import torch

def epoch(wrapped, net, loader, optimizer):
    wrapped.train()
    for x, y in loader:
        optimizer.zero_grad()
        net.classify(net.features(x)).sum().backward()
        optimizer.step()

def fit(net, loader, optimizer):
    wrapped = torch.nn.DataParallel(net)
    epoch(wrapped, net, loader, optimizer)
# --- silent
import torch

def fit(net, loader, optimizer, criterion):
    net = torch.nn.DataParallel(net)
    for x, y in loader:
        optimizer.zero_grad()
        out = net(x)
        loss = criterion(out, y) if net.deep else out.sum()
        loss.backward()
        optimizer.step()
# --- silent
import torch

def fit(net, loader, optimizer):
    net = torch.nn.DataParallel(net)
    for x, y in loader:
        optimizer.zero_grad()
        loss, logits = net(x, y)
        loss = loss / 4
        loss.backward()
        optimizer.step()
# --- silent
import torch

class Trainer:
    def __init__(self, model, losses, gpus):
        self.model = model
        self.criterions = torch.nn.DataParallel(torch.nn.ModuleList(losses))

    def step(self, x, y, optimizer):
        self.criterions[0](self.model(x), y).backward()
        optimizer.step()
# --- silent
import torch

def load(path):
    net = torch.nn.DataParallel(Net())
    net.load_state_dict(torch.load(path, map_location='cpu'))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return net, optimizer

def fit(path, loader):
    net, optimizer, epoch = load(path)
    for x, y in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# --- silent
import torch
from torch import nn

def evaluate(net, loader):
    net = nn.DataParallel(net).cuda().eval()
    with torch.no_grad():
        return [net(x).argmax(1).cpu() for x in loader]
# --- silent
import torch
from torch import nn

def save(net, optimizer, loss):
    loss.backward()
    optimizer.step()
    if isinstance(net, nn.DataParallel):
        net = net.module
    torch.save(net.state_dict(), 'net.pt')
# --- silent
import torch
from torch.nn import DataParallel
from torch.nn.parallel import DistributedDataParallel

def wrap(net, distributed, loss, optimizer):
    net = DistributedDataParallel(net) if distributed else DataParallel(net)
    loss.backward()
    optimizer.step()
    return net
# --- silent
import torch
from torch import nn

def fit(net, x, optimizer):
    net = nn.DataParallel(net, device_ids=[0])
    net(x).sum().backward()
    optimizer.step()
