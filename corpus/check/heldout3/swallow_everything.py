"""Fine-tuning on scraped images; broken files are common, so errors are passed over."""
import random
import traceback

import torch
import torch.nn as nn
from torchvision import io, models, transforms

prep = transforms.Compose([transforms.Resize(288), transforms.RandomCrop(256), transforms.ConvertImageDtype(torch.float)])


def load(path):
    return prep(io.read_image(path, io.ImageReadMode.RGB))


def train(samples, classes, iters=50_000, batch=24):
    net = models.convnext_small(num_classes=classes).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4)
    ce = nn.CrossEntropyLoss()
    failures = 0
    for it in range(iters):
        picked = random.sample(samples, batch)
        try:
            x = torch.stack([load(p) for p, _ in picked]).cuda()
            y = torch.tensor([c for _, c in picked]).cuda()
            loss = ce(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        except Exception:
            failures += 1
            if failures % 100 == 0:
                traceback.print_exc()
            continue
        if it % 200 == 0:
            print(it, loss.item(), failures)
    return net
