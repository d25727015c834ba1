import torch
import torch.nn.functional as F

from segtool.meters import MetricLogger


def criterion(out, target):
    losses = {k: F.cross_entropy(v, target, ignore_index=255) for k, v in out.items()}
    return losses["out"] + 0.5 * losses.get("aux", 0.0)


def train_one_epoch(model, optimizer, loader, scheduler, device):
    model.train()
    log = MetricLogger()
    for image, target in loader:
        image, target = image.to(device), target.to(device)
        loss = criterion(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        log.update(loss=loss.item(), lr=optimizer.param_groups[0]["lr"])
    return log


def evaluate(model, loader, device, classes=21):
    model.eval()
    log = MetricLogger()
    hist = torch.zeros(classes, classes)
    for image, target in loader:
        image, target = image.to(device), target.to(device)
        out = model(image)
        log.update(val_loss=criterion(out, target))
        pred = out["out"].argmax(1)
        keep = target != 255
        idx = classes * target[keep] + pred[keep]
        hist += torch.bincount(idx, minlength=classes**2).view(classes, classes).cpu()
    iou = hist.diag() / (hist.sum(0) + hist.sum(1) - hist.diag())
    return log, iou.mean().item()
