import copy
import json
import sys

import torch
from torch.utils.data import DataLoader

from .config import TrainConfig
from .engine import Engine
from .data import KitsPatches
from .net import PlainUNet, DiceCE


def main(argv=None):
    cfg = TrainConfig()
    for pair in argv or sys.argv[1:]:
        key, value = pair.split("=")
        setattr(cfg, key, type(getattr(cfg, key))(value))
    tr = DataLoader(KitsPatches(cfg, "train"), cfg.batch, shuffle=True, num_workers=8, pin_memory=True)
    va = DataLoader(KitsPatches(cfg, "val"), cfg.batch, num_workers=4, pin_memory=True)
    eng = Engine(PlainUNet(cfg.channels, cfg.classes), DiceCE(), cfg)
    best, best_weights, log = 0.0, None, []
    for epoch in range(cfg.epochs):
        loss = eng.train_epoch(tr)
        vloss, dice = eng.validate(va)
        log.append({"epoch": epoch, "loss": float(loss), "vloss": float(vloss), "dice": dice})
        if dice > best:
            best = dice
            best_weights = copy.deepcopy(eng.net.state_dict())
    torch.save(best_weights, "best.pt")
    json.dump(log, open("log.json", "w"))


if __name__ == "__main__":
    main()
