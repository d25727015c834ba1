import itertools as it

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def main(dit, dataset, max_steps=50_000):
    accelerator = Accelerator(mixed_precision="bf16")
    loader = DataLoader(dataset, batch_size=1, shuffle=True, num_workers=4)
    opt = torch.optim.AdamW(dit.parameters(), lr=1e-5)
    dit, opt, loader = accelerator.prepare(dit, opt, loader)
    batches = it.cycle(loader)
    for step in range(max_steps):
        batch = next(batches)
        loss = dit(batch["latents"], batch["text"])
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
        if step % 100 == 0:
            accelerator.print(step, loss.item())
