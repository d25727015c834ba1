import random

import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, Subset
from torchvision import transforms as T

SETTINGS = {"folds": 5, "epochs": 12, "bs": 48, "lr": 2e-4, "gpus": [0, 1]}


def network():
    net = torchvision.models.efficientnet_b3(weights="DEFAULT")
    net.classifier[1] = nn.Linear(1536, 5)
    return nn.DataParallel(net, device_ids=SETTINGS["gpus"]).cuda()


def fold_indices(n, k):
    order = list(range(n))
    random.Random(0).shuffle(order)
    return [order[i::k] for i in range(k)]


def assess(net, dl):
    was = net.training
    net.eval()
    truth, guess = [], []
    for x, y in dl:
        guess.append(net(x.cuda()).argmax(1).cpu())
        truth.append(y)
    net.train(was)
    return (torch.cat(truth) == torch.cat(guess)).float().mean().item()


def main():
    ds = torchvision.datasets.ImageFolder("retina", T.Compose([T.Resize((300, 300)), T.ToTensor()]))
    folds = fold_indices(len(ds), SETTINGS["folds"])
    for k, held in enumerate(folds):
        rest = [i for j, f in enumerate(folds) if j != k for i in f]
        tr = DataLoader(Subset(ds, rest), SETTINGS["bs"], shuffle=True, num_workers=8)
        va = DataLoader(Subset(ds, held), SETTINGS["bs"], num_workers=8)
        net = network()
        for ep in range(SETTINGS["epochs"]):
            opt = torch.optim.AdamW(net.parameters(), SETTINGS["lr"] * 0.9 ** ep)
            for x, y in tr:
                opt.zero_grad()
                nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
                opt.step()
        print("fold", k, "acc", assess(net, va))


if __name__ == "__main__":
    main()
