import numpy as np
import torch
import torchaudio
from sklearn.metrics import roc_curve

from ecapa import ECAPA


def eer(scores, labels):
    fpr, tpr, _ = roc_curve(labels, scores)
    return fpr[np.nanargmin(np.abs(fpr - (1 - tpr)))]


def main(trials, ckpt):
    net = ECAPA(1024).cuda()
    net.load_state_dict(torch.load(ckpt, map_location="cpu")["model"])
    net.eval()
    scores, labels = [], []
    for lab, a, b in trials:
        wa, _ = torchaudio.load(a)
        wb, _ = torchaudio.load(b)
        ea, eb = net(wa.cuda()), net(wb.cuda())
        scores.append(torch.cosine_similarity(ea, eb).item())
        labels.append(int(lab))
    print("EER %.3f" % eer(scores, labels))
