import torch
from torchvision.models.detection import fasterrcnn_resnet50_fpn


def step(model, optimizer, images, targets):
    losses = 0
    for img, tgt in zip(images, targets):
        out = model([img.cuda()], [{k: v.cuda() for k, v in tgt.items()}])
        losses += sum(out.values())
    optimizer.zero_grad()
    losses.backward()
    optimizer.step()


def main(loader):
    model = fasterrcnn_resnet50_fpn(weights=None, num_classes=21).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), 5e-3)
    for images, targets in loader:
        step(model, optimizer, images, targets)
