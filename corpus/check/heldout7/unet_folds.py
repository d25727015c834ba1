import copy
import gc

import numpy as np
import pandas as pd
import segmentation_models_pytorch as smp
import torch
from sklearn.model_selection import GroupKFold
from torch.cuda import amp
from torch.utils.data import DataLoader
from tqdm import tqdm

from dataset import BuildDataset, data_transforms


class CFG:
    seed = 101
    backbone = "efficientnet-b3"
    train_bs = 32
    valid_bs = 64
    epochs = 15
    n_fold = 5
    device = torch.device("cuda:0")


def build_model():
    return smp.Unet(CFG.backbone, encoder_weights="imagenet", in_channels=3, classes=3).to(CFG.device)


bce = smp.losses.SoftBCEWithLogitsLoss()
tversky = smp.losses.TverskyLoss(mode="multilabel", log_loss=False)


def criterion(p, t):
    return 0.5 * bce(p, t) + 0.5 * tversky(p, t)


def train_one_epoch(model, optimizer, scheduler, loader):
    model.train()
    scaler = amp.GradScaler()
    n, running = 0, 0.0
    for images, masks in tqdm(loader):
        images = images.to(CFG.device, dtype=torch.float)
        masks = masks.to(CFG.device, dtype=torch.float)
        with amp.autocast(enabled=True):
            loss = criterion(model(images), masks)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        scheduler.step()
        running += loss.item() * images.size(0)
        n += images.size(0)
    torch.cuda.empty_cache()
    gc.collect()
    return running / n


@torch.no_grad()
def valid_one_epoch(model, loader):
    model.eval()
    scores = []
    for images, masks in loader:
        p = torch.sigmoid(model(images.to(CFG.device)))
        inter = (p.cpu() * masks).sum((2, 3))
        scores.append(((2 * inter + 1e-4) / (p.cpu().sum((2, 3)) + masks.sum((2, 3)) + 1e-4)).numpy())
    return np.concatenate(scores).mean()


def run_fold(model, train_loader, valid_loader):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=len(train_loader) * CFG.epochs)
    best, best_dice = None, -1.0
    for _ in range(CFG.epochs):
        train_one_epoch(model, opt, sched, train_loader)
        dice = valid_one_epoch(model, valid_loader)
        if dice > best_dice:
            best_dice = dice
            best = copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
    return model, best_dice


df = pd.read_csv("train_folds.csv")
for fold in range(CFG.n_fold):
    tr = DataLoader(BuildDataset(df[df.fold != fold], data_transforms["train"]), CFG.train_bs, shuffle=True)
    va = DataLoader(BuildDataset(df[df.fold == fold], data_transforms["valid"]), CFG.valid_bs)
    m, d = run_fold(build_model(), tr, va)
    torch.save(m.state_dict(), f"fold{fold}_{d:.4f}.pth")
