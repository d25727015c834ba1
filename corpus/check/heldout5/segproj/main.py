import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size:256"

import json
import sys

import torch

from engine import dump_predictions, fit_epoch, score
from model import Segmenter
from utils import seed_all


def main(path):
    cfg = json.load(open(path))
    seed_all(cfg.get("seed", 0))
    model = Segmenter().cuda()
    opt = torch.optim.AdamW(model.parameters(), cfg["lr"])
    best = 0.0
    for ep in range(cfg["epochs"]):
        loss = fit_epoch(model, opt, cfg)
        s = score(model, cfg)
        print(ep, loss, s)
        if s > best:
            best = s
            torch.save(model.state_dict(), "best.pt")
    dump_predictions(model, cfg, "test.pt")


if __name__ == "__main__":
    main(sys.argv[1])
