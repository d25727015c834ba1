"""Submission kernel: average of 7 checkpoints with 4x TTA."""
import glob

import numpy as np
import pandas as pd
import timm
import torch
from tqdm import tqdm

from kernel_utils import TestDS

sub = pd.read_csv("sample_submission.csv")
dl = torch.utils.data.DataLoader(TestDS(sub), batch_size=32, num_workers=2)


def build(path):
    net = timm.create_model("convnext_base", num_classes=5)
    net.load_state_dict(torch.load(path)["model"])
    return net.cuda().eval()


def tta(x):
    yield x
    yield x.flip(-1)
    yield x.flip(-2)
    yield x.transpose(-1, -2)


final = np.zeros((len(sub), 5))
for ck in sorted(glob.glob("../input/convnext-ckpts/*.pth")):
    net = build(ck)
    probs = []
    for x in tqdm(dl):
        x = x.cuda()
        p = sum(net(v).softmax(-1) for v in tta(x)) / 4
        probs.append(p)
    final += torch.cat(probs).detach().cpu().numpy()
    torch.cuda.empty_cache()

sub.iloc[:, 1:] = final / 7
sub.to_csv("submission.csv", index=False)
