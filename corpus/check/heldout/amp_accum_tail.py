import torch
from torch.amp import GradScaler, autocast


def train(model, loader, optimizer, criterion, epochs=10, update_freq=4):
    scaler = GradScaler("cuda")
    for epoch in range(epochs):
        model.train()
        optimizer.zero_grad(set_to_none=True)
        pending = 0
        for video, label in loader:
            with autocast("cuda", dtype=torch.float16):
                loss = criterion(model(video.cuda()), label.cuda()) / update_freq
            scaler.scale(loss).backward()
            pending += 1
            if pending == update_freq:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)
                pending = 0
