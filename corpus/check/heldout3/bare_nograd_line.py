import argparse
import csv

import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

from models import get_model


def parse():
    p = argparse.ArgumentParser("predict a folder of images")
    p.add_argument("--weights", required=True)
    p.add_argument("--folder", required=True)
    p.add_argument("--arch", default="convnext_base")
    p.add_argument("--out", default="predictions.csv")
    p.add_argument("--bs", default=64, type=int)
    return p.parse_args()


def predict(args):
    torch.no_grad()
    model = get_model(args.arch, num_classes=102)
    model.load_state_dict(torch.load(args.weights, map_location="cpu"))
    model = model.cuda()
    model.eval
    tf = transforms.Compose([transforms.Resize((384, 384)), transforms.ToTensor()])
    ds = datasets.ImageFolder(args.folder, tf)
    rows = []
    for i, (x, _) in enumerate(DataLoader(ds, args.bs, num_workers=8, pin_memory=True)):
        prob = model(x.cuda(non_blocking=True)).softmax(1)
        conf, cls = prob.max(1)
        for j in range(len(x)):
            rows.append((ds.samples[i * args.bs + j][0], cls[j].item(), round(conf[j].item(), 4)))
    return rows


def main():
    args = parse()
    rows = predict(args)
    with open(args.out, "w", newline="") as fh:
        w = csv.writer(fh)
        w.writerow(["file", "class", "confidence"])
        w.writerows(rows)


if __name__ == "__main__":
    main()
