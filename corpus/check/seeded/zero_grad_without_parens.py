import torch
import torch.nn as nn
import torch.optim as optim

model = nn.Linear(10, 10).cuda()
optimizer = optim.SGD(model.parameters(), lr=0.01)
crit = nn.MSELoss()

for epoch in range(100):
    inputs = torch.randn(32, 10).cuda()
    targets = torch.randn(32, 10).cuda()
    optimizer.zero_grad
    outputs = model(inputs)
    loss = crit(outputs, targets)
    loss.backward()
    optimizer.step()
