# --- bad
import copy
import torch

def fit(model, loader, val_loader, epochs, device):
    model = model.to(device)
    best, best_loss = None, float('inf')
    for epoch in range(epochs):
        train(model, loader)
        loss = evaluate(model, val_loader)
        if loss < best_loss:
            best_loss = loss
            best = copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
# --- good
import copy
import torch

def fit(model, loader, val_loader, epochs, device):
    model = model.to(device)
    best, best_loss = None, float('inf')
    for epoch in range(epochs):
        train(model, loader)
        loss = evaluate(model, val_loader)
        if loss < best_loss:
            best_loss = loss
            best = {k: v.detach().to('cpu', copy=True) for k, v in model.state_dict().items()}
    model.load_state_dict(best)
# --- bad
import torch
from copy import deepcopy

net = torch.nn.Linear(8, 2).cuda()
top = 0.0
for epoch in range(100):
    score = run_epoch(net)
    if score > top:
        top = score
        best_net = deepcopy(net)
torch.save(best_net.state_dict(), 'best.pt')
# --- good
import torch

net = torch.nn.Linear(8, 2).cuda()
top = 0.0
for epoch in range(100):
    score = run_epoch(net)
    if score > top:
        top = score
        torch.save(net.state_dict(), 'best.pt')
# --- bad
from copy import deepcopy
import torch

class Stopper:
    def step(self, loss, model):
        if loss < self.best:
            self.best = loss
            self.weights = deepcopy(model.state_dict())

def fit(net, loader, optimizer, validate, stopper: Stopper):
    net = net.cuda()
    for x in loader:
        net(x.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        stopper.step(validate(net), net)
# --- good
import torch

class Stopper:
    def step(self, loss, model):
        if loss < self.best:
            self.best = loss
            self.weights = {k: v.detach().to('cpu', copy=True) for k, v in model.state_dict().items()}

def fit(net, loader, optimizer, validate, stopper: Stopper):
    net = net.cuda()
    for x in loader:
        net(x.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        stopper.step(validate(net), net)
# --- bad
import torch

def fit(model, loader, optimizer, epochs, score):
    model.cuda()
    best = 0
    for epoch in range(epochs):
        for x in loader:
            model(x.cuda()).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        if score(model) > best:
            best, weights = score(model), {k: v.clone() for k, v in model.state_dict().items()}
    return weights
# --- good
import torch

def fit(model, loader, optimizer, epochs, score):
    model.cuda()
    best = 0
    for epoch in range(epochs):
        for x in loader:
            model(x.cuda()).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        if score(model) > best:
            best, weights = score(model), {k: v.to('cpu', copy=True) for k, v in model.state_dict().items()}
    return weights
# --- silent
import copy
import torch

def federated(model, clients, optimizer, rounds):
    model.cuda()
    for round in range(rounds):
        states = []
        for client in clients:
            for x in client.loader:
                model(x.cuda()).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
            states.append(copy.deepcopy(model.state_dict()))
        model.load_state_dict(average(states))
# --- silent
import copy
import torch

def fit(model, loader, optimizer, epochs):
    model.cuda()
    for epoch in range(epochs):
        for x in loader:
            if epoch > 0:
                backup = copy.deepcopy(model.state_dict())
            else:
                backup = None
            model(x.cuda()).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            report(backup)
# --- silent
import copy
import torch

def inner(model, optimizer, tasks):
    model.cuda()
    for task in tasks:
        for step, batch in enumerate(task):
            if step == 1:
                before = copy.deepcopy(model.state_dict())
            model(batch).sum().backward()
            optimizer.step()
            if step == 1:
                model.load_state_dict(before)
# --- silent
import copy
import torch

def rounds(model, clients, epochs):
    model.cuda()
    for epoch in range(epochs):
        locals = []
        for client in clients:
            locals.append(copy.deepcopy(model))
        model.load_state_dict(average(locals))
# --- silent
import copy

class Stopper:
    def step(self, loss, model):
        if loss < self.best:
            self.best = loss
            self.weights = copy.deepcopy(model.state_dict())
# --- silent
import copy
import torch

def make_target(net):
    target = copy.deepcopy(net.cuda())
    return target.eval(), net.state_dict()
# --- silent
import copy
import torch

def federated(model, clients, rounds):
    model.cuda()
    for round in range(rounds):
        for client in clients:
            local = copy.deepcopy(model)
            client.train(local)
            client.send(local.state_dict())
# --- silent
import copy
import torch

def fit(epochs):
    model = torch.nn.Linear(8, 2)
    for epoch in range(epochs):
        if train(model) < 0.1:
            best = copy.deepcopy(model.state_dict())
    return best
# --- silent
import copy
import torch

def search(model, epochs):
    model.cuda()
    for epoch in range(epochs):
        trial = copy.deepcopy(model)
        trial(torch.zeros(1, 8).cuda()).sum().backward()
        print(model.state_dict())
# --- silent
import copy
import torch

def fit(model, epochs):
    model.cuda()
    for epoch in range(epochs):
        if train(model) < 0.1:
            best = copy.deepcopy(model).cpu()
    return best, model.state_dict()
