"""Effective batch of 512 on my laptop card (micro batches of 32)."""
import torch
import torch.nn.functional as F
from torchvision.models import resnet34

from course_utils import make_pets_loader

ACCUM = 16
net = resnet34(num_classes=37).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)
loader = make_pets_loader(batch_size=32)


def one_epoch():
    net.train()
    shown = 0.0
    for step, (x, y) in enumerate(loader, start=1):
        optimizer.zero_grad()
        pred = net(x.cuda())
        loss = F.cross_entropy(pred, y.cuda()) / ACCUM
        loss.backward()
        shown += loss.item() * ACCUM
        if step % ACCUM == 0:
            optimizer.step()
            print(f"{step:5d} {shown / ACCUM:.4f}")
            shown = 0.0


for epoch in range(8):
    one_epoch()
    torch.save(net.state_dict(), f"pets_{epoch}.pt")
