import torch
from torch.amp import GradScaler, autocast

from data import build


def train(model, tok, epochs=3, accumulation=32):
    scaler = GradScaler("cuda")
    opt = torch.optim.AdamW(model.parameters(), 1e-4)
    for ep in range(epochs):
        opt.zero_grad()
        pending = 0
        for enc in build(tok):
            with autocast("cuda", dtype=torch.float16):
                loss = model(input_ids=enc["x"].cuda(), labels=enc["y"].cuda()).loss
            scaler.scale(loss / accumulation).backward()
            pending += 1
            if pending >= accumulation:
                scaler.step(opt)
                scaler.update()
                opt.zero_grad()
                pending = 0
        model.save_pretrained(f"ep{ep}")
