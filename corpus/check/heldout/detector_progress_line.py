import torch
from tqdm import tqdm


def gpu_mem():
    return torch.cuda.memory_cached() / 1e9 if torch.cuda.is_available() else 0


def train_epoch(epoch, model, loader, optimizer, compute_loss, device):
    model.train()
    bar = tqdm(enumerate(loader), total=len(loader))
    mean = torch.zeros(3, device=device)
    for i, (imgs, targets, _paths) in bar:
        imgs = imgs.to(device, non_blocking=True).float() / 255
        pred = model(imgs)
        loss, items = compute_loss(pred, targets.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = (mean * i + items.detach()) / (i + 1)
        bar.set_description(f"{epoch} {gpu_mem():.3g}G {mean.tolist()}")
