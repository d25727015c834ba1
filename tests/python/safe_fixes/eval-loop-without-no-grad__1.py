"""Evaluation between epochs: accuracy and loss, and training that goes on afterwards."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
data = TensorDataset(torch.randn(160, 16), torch.randint(0, 4, (160,)))
train_loader = DataLoader(data, batch_size=32, shuffle=True)
test_loader = DataLoader(data, batch_size=50)


def evaluate(model, loader):
    model.eval()
    correct, total_loss = 0, 0.0
    for inputs, targets in loader:
        outputs = model(inputs)
        total_loss += criterion(outputs, targets).item()
        correct += (outputs.argmax(1) == targets).sum().item()
    model.train()
    return correct, total_loss


for epoch in range(3):
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), *evaluate(model, test_loader))
print(sum(p.double().sum().item() for p in model.parameters()))
