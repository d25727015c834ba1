import argparse

import numpy as np
import torch
import torchvision.models as models
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor


def build_backbone():
    net = models.resnet50(weights="IMAGENET1K_V2")
    net.fc = torch.nn.Identity()
    return net.cuda().eval()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("root")
    p.add_argument("--out", default="feats.npy")
    a = p.parse_args()
    ds = ImageFolder(a.root, Compose([Resize((224, 224)), ToTensor()]))
    dl = DataLoader(ds, batch_size=64, num_workers=8)
    backbone = build_backbone()
    feats = []
    for images, _ in dl:
        feats.append(backbone(images.cuda()))
    np.save(a.out, torch.cat(feats).detach().cpu().numpy())


if __name__ == "__main__":
    main()
