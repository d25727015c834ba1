"""class: none
cap_mib: 4096
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


model = Net(1024, 6).cuda()
opt = torch.optim.AdamW(model.parameters())
for epoch in range(4):
    model.train()
    running = 0.0
    for i in range(6):
        n = 256 + 64 * ((i * 7 + epoch) % 5)
        x = torch.randn(n, 1024, device="cuda")
        y = torch.randint(0, 10, (n,), device="cuda")
        opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        running += loss.item()
    model.eval()
    preds = []
    with torch.no_grad():
        for i in range(5):
            preds.append(model(torch.randn(512, 1024, device="cuda")).argmax(-1))
    torch.cat(preds)
