"""accelerate: prepare, accumulate, clip, gather, save."""

import torch
from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
net = torch.nn.Linear(64, 64)
optimizer = torch.optim.AdamW(net.parameters())
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _step: 1.0)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 64)), batch_size=8)
net, optimizer, loader, schedule = accelerator.prepare(net, optimizer, loader, schedule)
for epoch in range(10):
    for (x,) in loader:
        with accelerator.accumulate(net):
            loss = net(x).square().mean()
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    accelerator.print(epoch, accelerator.gather(loss).mean().item())
    accelerator.save_state("state")
