"""Trains two small nets: one in a function, one at module level, with a logged loss."""

import torch
from torch import nn

torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(24, 6), torch.randint(0, 3, (24,)))
loader = torch.utils.data.DataLoader(data, batch_size=6)
criterion = nn.CrossEntropyLoss()


def train(net, optimizer):
    seen = []
    for x, y in loader:
        logits = net(x)
        loss = criterion(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if len(seen) % 2 == 0:
            print("loss", loss.item())
        seen.append(loss.item())
    return seen


first = nn.Linear(6, 3)
print(train(first, torch.optim.SGD(first.parameters(), lr=0.1)))

second = nn.Linear(6, 3)
optimizer = torch.optim.SGD(second.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        if x.sum() > 100:
            continue
        outputs = second(x)
        cost = criterion(outputs, y)
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        print(epoch, cost.item())
print(second.weight.sum().item())
