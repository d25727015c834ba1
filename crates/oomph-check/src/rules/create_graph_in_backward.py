# --- bad
import torch

def penalised(model, criterion, x, y):
    loss = criterion(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum(p.grad.pow(2).sum() for p in model.parameters())
    return loss + 0.1 * penalty
# --- good
import torch

def penalised(model, criterion, x, y):
    loss = criterion(model(x), y)
    grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    penalty = sum(g.pow(2).sum() for g in grads)
    return loss + 0.1 * penalty
# --- bad
import torch

def hessian_diagonal(net, x):
    out = net(x).sum()
    torch.autograd.backward(out, create_graph=True)
    return [p.grad for p in net.parameters()]
# --- good
import torch

def hessian_diagonal(net, x):
    out = net(x).sum()
    return torch.autograd.grad(out, list(net.parameters()), create_graph=True)
# --- bad
import torch

for x, y in loader:
    optimizer.zero_grad(set_to_none=False)
    loss = criterion(model(x), y)
    loss.backward(create_graph=True)
    optimizer.step()
# --- good
import torch

for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward(create_graph=True)
    optimizer.step()
# --- silent
import torch

class Penalised:
    def update(self, x, y):
        logits = self.model(x)
        penalty = self.penalty(logits, y)
        loss = self.criterion(logits, y) + penalty
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def penalty(self, logits, y):
        loss = self.criterion(logits, y)
        loss.backward(inputs=list(self.head.parameters()), retain_graph=True, create_graph=True)
        return sum(p.grad.pow(2).sum() for p in self.head.parameters())
# --- silent
import torch

def curvature(model, criterion, x, y):
    loss = criterion(model(x), y)
    loss.backward(create_graph=True)
    total = sum(p.grad.norm() for p in model.parameters()).item()
    for p in model.parameters():
        p.grad = None
    return total
# --- silent
import torch

def step(model, optimizer, criterion, x, y):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward(create_graph=True)
    optimizer.step()
    optimizer.zero_grad()
# --- silent
import torch

def step(loss, second_order):
    loss.backward(create_graph=second_order)
    loss.backward(create_graph=False)
