import torch
import torch.nn.functional as F

from data import batches
from utils import WEIGHTS, iou


def fit_epoch(model, opt, cfg):
    model.train()
    total = 0.0
    for k, (img, mask) in enumerate(batches(cfg, "train")):
        loss = F.cross_entropy(model(img), mask, weight=WEIGHTS)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / (k + 1)


def score(model, cfg, split="val"):
    model.eval()
    vals = []
    with torch.no_grad():
        for img, mask in batches(cfg, split):
            vals.append(iou(model(img).argmax(1), mask))
    return sum(vals) / len(vals)


def dump_predictions(model, cfg, path):
    model.eval()
    outs = [model(img).softmax(1) for img, _ in batches(cfg, "test")]
    torch.save(torch.cat(outs).argmax(1).cpu(), path)
