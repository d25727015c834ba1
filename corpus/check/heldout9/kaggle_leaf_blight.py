# Fork of my own starter: leaf disease, 5 folds, EfficientNet. LB 0.891
import gc
from dataclasses import dataclass

import pandas as pd
import timm
import torch
import torch.nn as nn
from PIL import Image
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T


@dataclass
class CFG:
    arch: str = "tf_efficientnet_b4.ns_jft_in1k"
    folds: int = 5
    epochs: int = 8
    bs: int = 16
    lr: float = 1e-4


class Leaves(Dataset):
    def __init__(self, df):
        self.df = df.reset_index(drop=True)
        self.tf = T.Compose([T.Resize((512, 512)), T.ToTensor()])

    def __len__(self):
        return len(self.df)

    def __getitem__(self, i):
        row = self.df.loc[i]
        return self.tf(Image.open(f"train/{row.image_id}").convert("RGB")), int(row.label)


def one_fold(df, fold):
    tr, va = df[df.fold != fold], df[df.fold == fold]
    dl = DataLoader(Leaves(tr), CFG.bs, shuffle=True, num_workers=4)
    dlv = DataLoader(Leaves(va), CFG.bs, num_workers=4)
    net = timm.create_model(CFG.arch, pretrained=True, num_classes=5).cuda()
    opt = torch.optim.AdamW(net.parameters(), CFG.lr)
    scaler = GradScaler()
    champion, top = None, 0.0
    for ep in range(CFG.epochs):
        net.train()
        for x, y in dl:
            opt.zero_grad()
            with autocast():
                loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        hits = 0
        net.eval()
        with torch.inference_mode():
            for x, y in dlv:
                hits += (net(x.cuda()).argmax(1).cpu() == y).sum().item()
        if hits / len(va) > top:
            top = hits / len(va)
            champion = {k: v.cpu() for k, v in net.state_dict().items()}
    return champion, top


df = pd.read_csv("train_folds.csv")
ensemble = []
for fold in range(CFG.folds):
    best, score = one_fold(df, fold)
    print(fold, score)
    ensemble.append(best)
    gc.collect()
torch.save(ensemble, "five.pt")
