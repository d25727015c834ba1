import torch, torch.nn as nn
import numpy as np
from transformers import SegformerForSemanticSegmentation
from torch.utils.data import DataLoader
from flood import FloodTiles

# kaggle T4 x2
net = SegformerForSemanticSegmentation.from_pretrained("nvidia/mit-b3", num_labels=2)
net = nn.DataParallel(net, device_ids=[0, 1]).cuda()
opt = torch.optim.AdamW(net.parameters(), lr=6e-5)
ce = nn.CrossEntropyLoss(ignore_index=255)

tr = DataLoader(FloodTiles("train"), 16, shuffle=True, num_workers=4)
va = DataLoader(FloodTiles("val"), 16, num_workers=4)


def up(logits, size):
    return nn.functional.interpolate(logits, size=size, mode="bilinear", align_corners=False)


def iou(net, dl):
    net.eval()
    tp = fp = fn = 0
    for x, y in dl:
        logits = up(net(pixel_values=x.cuda()).logits, y.shape[-2:])
        p = logits.argmax(1).cpu()
        tp += ((p == 1) & (y == 1)).sum().item()
        fp += ((p == 1) & (y == 0)).sum().item()
        fn += ((p == 0) & (y == 1)).sum().item()
    return tp / (tp + fp + fn + 1e-9)


for epoch in range(25):
    net.train()
    for x, y in tr:
        loss = ce(up(net(pixel_values=x.cuda()).logits, y.shape[-2:]), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item(), "IoU", iou(net, va))
