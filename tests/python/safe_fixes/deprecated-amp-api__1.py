"""Mixed precision by imported names: a scaler, blocks with and without arguments."""

import torch
from torch.cuda.amp import GradScaler, autocast

torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler(init_scale=1024.0)
off = GradScaler(1024.0, enabled=False)

for step in range(4):
    with autocast(enabled=step % 2 == 0):
        loss = model(torch.randn(16, 8)).pow(2).mean()
    with autocast(False):
        loss = loss * 2
    with autocast():
        again = torch.is_autocast_enabled("cuda")
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(step, f"{loss.item():.6f}", again, scaler.get_scale(), off.is_enabled())
