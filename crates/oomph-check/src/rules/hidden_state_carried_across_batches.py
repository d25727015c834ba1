# --- bad
import torch
from torch import nn

rnn = nn.LSTM(8, 8)
criterion = nn.MSELoss()
h = None
for x, y in train_loader:
    out, h = rnn(x, h)
    loss = criterion(out, y)
    loss.backward(retain_graph=True)
# --- good
import torch
from torch import nn

rnn = nn.LSTM(8, 8)
criterion = nn.MSELoss()
h = None
for x, y in train_loader:
    if h is not None:
        h = tuple(part.detach() for part in h)
    out, h = rnn(x, h)
    loss = criterion(out, y)
    loss.backward()
# --- silent
import torch

def adapt(model, support_loader, weights):
    for step in range(5):
        total = 0
        for x, y in support_loader:
            total = total + torch.nn.functional.mse_loss(model(x, weights), y)
        grads = torch.autograd.grad(total, weights, create_graph=True)
        weights = [w - 0.1 * g for w, g in zip(weights, grads)]
    return weights
# --- silent
import torch
from torch import nn

cell = nn.GRUCell(8, 8)
for x, y in train_loader:
    h = torch.zeros(4, 8)
    for t in range(x.size(1)):
        h = cell(x[:, t], h)
    h.sum().backward()
# --- silent
import torch
from torch import nn

rnn = nn.GRU(8, 8)
h = None
for x, y in train_loader:
    out, h = rnn(x, h)
    out.sum().backward()
    h = h.detach()
