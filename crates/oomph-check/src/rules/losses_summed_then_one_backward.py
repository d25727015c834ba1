# --- bad
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
loss = 0
for x, y in micro_batches:
    loss = loss + criterion(net(x), y)
loss.backward()
# --- good
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
for x, y in micro_batches:
    loss = criterion(net(x), y) / len(micro_batches)
    loss.backward()
# --- bad
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
loss = sum(criterion(net(x), y) for x, y in micro_batches)
loss.backward()
# --- good
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
for x, y in micro_batches:
    criterion(net(x), y).backward()
# --- silent
import torch
import torch.nn.functional as F

def update(features, parts, heads, optimizer):
    loss = 0
    for j, (part, y) in enumerate(parts):
        loss += F.cross_entropy(heads[j](features[part].detach()), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# --- silent
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
for x, y in loader:
    out = net(x)
    loss = 0
    for k in range(4):
        loss += criterion(out[k], y[k])
    loss.backward()
# --- silent
import torch
from torch import nn

cell = nn.LSTMCell(8, 8)
criterion = nn.CrossEntropyLoss()
for x, y in loader:
    h = None
    loss = 0
    for t in range(10):
        h = cell(x[t], h)
        loss += criterion(h[0], y[t])
    loss.backward()
# --- silent
import torch
from torch import nn

net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
for step in range(100):
    losses = []
    for x, y in environments:
        losses.append(criterion(net(x), y))
    loss = torch.stack(losses).mean() + 10 * torch.var(torch.stack(losses))
    loss.backward()
