import copy
import gc
import numpy as np
import pandas as pd
import timm
import torch
from sklearn.model_selection import StratifiedKFold
from torch.utils.data import DataLoader
from dataset import LeafDataset, get_tfms


class CFG:
    name = "tf_efficientnet_b5"
    size = 512
    bs = 12
    accum = 4
    folds = 5
    epochs = 12


class AverageMeter:
    def __init__(self):
        self.sum, self.cnt = 0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.cnt += n

    @property
    def avg(self):
        return self.sum / self.cnt


def train_fn(dl, model, opt, crit, scaler):
    meter = AverageMeter()
    model.train()
    opt.zero_grad()
    for i, (x, y) in enumerate(dl):
        with torch.cuda.amp.autocast():
            loss = crit(model(x.cuda()), y.cuda()) / CFG.accum
        scaler.scale(loss).backward()
        meter.update(loss, x.size(0))
        if (i + 1) % CFG.accum == 0:
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
    return meter.avg


@torch.no_grad()
def valid_fn(dl, model):
    model.eval()
    out = [model(x.cuda()).softmax(1).cpu() for x, _ in dl]
    return torch.cat(out).numpy()


def run():
    df = pd.read_csv("train.csv")
    oof = np.zeros((len(df), 5), dtype=np.float32)
    for f, (tr, va) in enumerate(StratifiedKFold(CFG.folds, shuffle=True, random_state=42).split(df, df.label)):
        model = timm.create_model(CFG.name, pretrained=True, num_classes=5).cuda()
        opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
        scaler = torch.amp.GradScaler("cuda")
        tdl = DataLoader(LeafDataset(df.iloc[tr], get_tfms("train")), CFG.bs, shuffle=True, num_workers=4)
        vdl = DataLoader(LeafDataset(df.iloc[va], get_tfms("valid")), CFG.bs * 2, num_workers=4)
        best, best_model = 0, None
        for ep in range(CFG.epochs):
            tl = train_fn(tdl, model, opt, torch.nn.CrossEntropyLoss(), scaler)
            p = valid_fn(vdl, model)
            acc = (p.argmax(1) == df.label.values[va]).mean()
            if acc > best:
                best, best_model = acc, copy.deepcopy(model)
                oof[va] = p
            print(f, ep, float(tl), acc)
        torch.save(best_model.state_dict(), f"fold{f}.pth")
        torch.cuda.empty_cache()
        del model, best_model, opt
        gc.collect()


if __name__ == "__main__":
    run()
