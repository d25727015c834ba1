import glob
import numpy as np
import pandas as pd
import timm
import torch
from torch.utils.data import DataLoader
from dataset import LeafDataset, get_tfms

WEIGHTS = sorted(glob.glob("fold*.pth"))
sub = pd.read_csv("sample_submission.csv")


def load(path):
    m = timm.create_model("tf_efficientnet_b5", pretrained=False, num_classes=5).cuda()
    m.load_state_dict(torch.load(path, map_location="cpu"))
    return m.eval()


models = [load(w) for w in WEIGHTS]


def tta(x):
    yield x
    yield x.flip(-1)
    yield x.flip(-2)
    yield x.transpose(-1, -2)


def predict(loader):
    preds = []
    for x, _ in loader:
        x = x.cuda()
        p = 0
        for m in models:
            for v in tta(x):
                p = p + m(v).softmax(1)
        preds.append((p / (len(models) * 4)).detach().cpu())
    return torch.cat(preds)


dl = DataLoader(LeafDataset(sub, get_tfms("valid")), 16, num_workers=4)
sub["label"] = predict(dl).argmax(1).numpy()
sub.to_csv("submission.csv", index=False)
