import argparse

import torch
import torchvision

from segtool.data import make_loaders
from segtool.engine import evaluate, train_one_epoch


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--resume")
    a = ap.parse_args()
    device = torch.device("cuda")
    train, val = make_loaders(a.data, batch_size=8)
    model = torchvision.models.segmentation.deeplabv3_resnet101(num_classes=21, aux_loss=True).to(device)
    opt = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, a.epochs * len(train), 0.9)
    if a.resume:
        model.load_state_dict(torch.load(a.resume, map_location="cpu"))
    for epoch in range(a.epochs):
        log = train_one_epoch(model, opt, train, sched, device)
        val_log, miou = evaluate(model, val, device)
        print(f"[{epoch}] {log} | {val_log} miou {miou:.4f}")
        torch.save(model.state_dict(), f"model_{epoch}.pth")


if __name__ == "__main__":
    main()
