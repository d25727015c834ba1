import torch
from torch import nn
from tqdm import tqdm

from losses import DiceLoss


def run_validation(model, val_loader, device):
    criterion = {"ce": nn.CrossEntropyLoss(ignore_index=255), "dice": DiceLoss()}
    totals = {"ce": 0.0, "dice": 0.0}
    model.eval()
    for step, batch in enumerate(tqdm(val_loader, desc="val")):
        img = batch["image"].to(device, non_blocking=True)
        mask = batch["mask"].to(device, non_blocking=True)
        pred = model(img)
        for name, fn in criterion.items():
            totals[name] += fn(pred, mask)
    return {k: v / len(val_loader) for k, v in totals.items()}
