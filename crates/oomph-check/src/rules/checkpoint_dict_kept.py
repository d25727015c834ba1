# --- bad
import torch

def main(model, optimizer, loader, criterion):
    checkpoint = torch.load('last.pt', map_location='cuda')
    model.load_state_dict(checkpoint['model'])
    optimizer.load_state_dict(checkpoint['optimizer'])
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
# --- good
import torch

def main(model, optimizer, loader, criterion):
    checkpoint = torch.load('last.pt', map_location='cpu')
    model.load_state_dict(checkpoint['model'])
    optimizer.load_state_dict(checkpoint['optimizer'])
    del checkpoint
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
# --- bad
import torch

def run(args, model, loader, optimizer):
    device = torch.device('cuda')
    start = 0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state['model'])
        start = state['epoch']
    for epoch in range(start, args.epochs):
        train_one_epoch(model, loader, optimizer)

def train_one_epoch(model, loader, optimizer):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# --- good
import torch

def run(args, model, loader, optimizer):
    start = resume(args.resume, model) if args.resume else 0
    for epoch in range(start, args.epochs):
        train_one_epoch(model, loader, optimizer)

def resume(path, model):
    state = torch.load(path, map_location='cpu')
    model.load_state_dict(state['model'])
    return state['epoch']

def train_one_epoch(model, loader, optimizer):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# --- bad
import torch

class Sampler:
    def __init__(self, net, path):
        self.state = torch.load(path, map_location='cuda:0')
        self.net = net.cuda()
        self.net.load_state_dict(self.state['ema'])
# --- good
import torch

class Sampler:
    def __init__(self, net, path):
        state = torch.load(path, map_location='cpu')
        self.net = net.cuda()
        self.net.load_state_dict(state['ema'])
# --- bad
import torch

state = torch.load('best.pth', map_location=torch.device('cuda', 0))
net.load_state_dict(state['net'])
optimizer.load_state_dict(state['optimizer'])

def train(loader):
    for x in loader:
        net(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# --- good
import torch

state = torch.load('best.pth', map_location='cpu')
net.load_state_dict(state['net'])
optimizer.load_state_dict(state['optimizer'])
del state

def train(loader):
    for x in loader:
        net(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# --- silent
import torch
from nets import build

def main(args, optimizer, loader):
    model = build(args)
    path = args.start
    if args.first:
        torch.save({'full': model.state_dict()}, args.start)
    else:
        info = torch.load(path)
        model.load_state_dict(info['full'])
    model.cuda()
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# --- silent
import torch

def main(model, loader, attack):
    state = torch.load('last.pt', map_location='cuda')
    model.load_state_dict(state['model'])
    for x, y in loader:
        x.requires_grad_()
        model(x).sum().backward()
        attack(x, x.grad)
# --- silent
import os
import torch

def get(path, model, loader, optimizer):
    model = model.cuda()
    if os.path.isfile(path):
        checkpoint = torch.load(path, map_location='cuda')
        model.load_state_dict(checkpoint['model'])
    else:
        for x, y in loader:
            optimizer.zero_grad()
            model(x.cuda()).sum().backward()
            optimizer.step()
    return model
# --- silent
import torch

def main(model, optimizer, loader):
    state = torch.load('last.pt', map_location='cuda')
    model.load_state_dict(state.pop('model'))
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# --- silent
import torch

class Sampler:
    def __init__(self, net, path):
        self.state = torch.load(path, map_location='cuda')
        self.net = net.cuda()
        self.net.load_state_dict(self.state['net'])

    def labels(self):
        return self.state['labels']
# --- silent
import torch

def main(model, optimizer, loader):
    state = torch.load('last.pt', map_location='cuda')
    model.load_state_dict(state)
    del state
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# --- silent
import torch

def resume(model):
    state = torch.load('last.pt', map_location='cuda')
    model.load_state_dict(state['model'])
    return state['epoch']
# --- silent
import torch

def main(model, optimizer, loader):
    state = torch.load('last.pt', map_location=lambda storage, location: storage)
    model.load_state_dict(state)
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
