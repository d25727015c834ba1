"""Mixed precision, gradients accumulated over four micro-batches of any size; the optimizer steps every fourth print."""
import os
import random

import torch
from torch import nn

device = "cuda"
random.seed(13)
ACCUM = 4

model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 512)).to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 5))
window, norms = [], []

for i in range(int(os.environ.get("STEPS", 60))):
    x = torch.randn(random.randint(32, 400), 512, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(model(x).float(), x)
    (loss / ACCUM).backward()
    window.append(loss.detach())
    if (i + 1) % ACCUM == 0:
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        mean = torch.stack(window).mean().item()
        window = []
    print(f"micro {i} rows {x.shape[0]} lr {sched.get_last_lr()[0]:.5f} updates {len(norms)}")
