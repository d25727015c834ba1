"""ImageNet-100 on the two cards of the workstation."""
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0,1")

import torch
import torch.nn as nn
from torch.nn.parallel import DataParallel
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms


class Args:
    data = "/ssd/imagenet100"
    lr = 0.2
    epochs = 90
    batch = 512
    resume = ""


def main(args=Args()):
    tf = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    loader = DataLoader(datasets.ImageFolder(os.path.join(args.data, "train"), tf), args.batch, True, num_workers=12, pin_memory=True)
    model = models.resnet101(num_classes=100)
    model = DataParallel(model, device_ids=[0, 1]).cuda()
    opt = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    start = 0
    if args.resume:
        ck = torch.load(args.resume)
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["opt"])
        start = ck["epoch"] + 1
    ce = nn.CrossEntropyLoss()
    for epoch in range(start, args.epochs):
        model.train()
        for x, y in loader:
            loss = ce(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "last.pt")
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
