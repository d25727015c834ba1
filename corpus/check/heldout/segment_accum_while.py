import torch
import torch.nn.functional as F


def dice(p, t, eps=1.0):
    inter = (p * t).sum((1, 2, 3))
    return 1 - ((2 * inter + eps) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + eps)).mean()


def train(unet, loader, optimizer, scheduler, accumulation=6, epochs=50, device="cuda"):
    unet.train()
    for epoch in range(epochs):
        k = accumulation
        while k > 0:
            for step, sample in enumerate(loader):
                image = sample["image"].to(device)
                mask = sample["mask"].to(device)
                logit = unet(image)
                loss = F.binary_cross_entropy_with_logits(logit, mask) + dice(logit.sigmoid(), mask)
                loss = loss / accumulation
                loss.backward()
            k -= 1
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
