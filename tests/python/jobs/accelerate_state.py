"""accelerate: everything is saved in the middle and loaded again."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(mixed_precision="fp16")
model = nn.Sequential(nn.Linear(64, 2048), nn.ReLU(), nn.Linear(2048, 2))
optimizer = torch.optim.AdamW(model.parameters())
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer)
loader = DataLoader(TensorDataset(torch.randn(64, 64), torch.zeros(64, dtype=torch.int64)), batch_size=16)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for step, (inputs, targets) in enumerate(loader):
    with accelerator.accumulate(model):
        accelerator.backward(nn.functional.cross_entropy(model(inputs), targets))
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    if step == 1:
        accelerator.save_state("state")
        accelerator.load_state("state")
accelerator.load_state("state")
accelerator.save_model(model, "model")
accelerator.save(accelerator.get_state_dict(model), "weights.bin")
