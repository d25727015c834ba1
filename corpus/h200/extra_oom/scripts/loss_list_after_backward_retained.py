"""class: leak
cap_mib: 1200
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width=1024, depth=6, classes=10):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
history = []
for epoch in range(1000):
    for i in range(100):
        x = torch.randn(256, 1024, device="cuda")
        target = torch.randint(0, 10, (256,), device="cuda")
        loss = F.cross_entropy(model(x), target)  # guilty
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        history.append(loss)
