"""Half precision with a scaler, clipped gradients, a schedule, and both kinds of checkpointing."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

blocks = nn.Sequential(*[nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 64)) for _ in range(4)])
blocks.cuda()
optimizer = torch.optim.SGD(blocks.parameters(), 0.1, momentum=0.9, nesterov=True)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=100)
scaler = torch.amp.GradScaler("cuda")
for step in range(20):
    with torch.autocast("cuda", dtype=torch.float16):
        h = torch.randn(32, 64, device="cuda", requires_grad=True)
        for index, block in enumerate(blocks):
            h = checkpoint(block, h, use_reentrant=index % 2 == 0)
        loss = checkpoint_sequential(blocks, 2, h, use_reentrant=False).float().square().mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(blocks.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    schedule.step()
    print(step, loss.item(), norm.item(), scaler.get_scale())
