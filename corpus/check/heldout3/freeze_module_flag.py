"""Linear probing and partial fine-tuning of a ViT-L on fundus photographs."""
import timm
import torch
from torch import nn
from torch.utils.data import DataLoader

from fundus import FundusGrading


def build(probe: bool, classes: int = 5) -> nn.Module:
    model = timm.create_model("vit_large_patch16_224", pretrained=True, num_classes=classes)
    if probe:
        model.patch_embed.requires_grad = False
        model.blocks.requires_grad = False
        for name, p in model.named_parameters():
            if "norm" in name:
                p.requires_grad == False
    return model.cuda()


def epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    loss_sum = hits = n = 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            x, y = x.cuda(), y.cuda()
            out = model(x)
            loss = criterion(out, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, hits / n


def main(root="/data/eyepacs", probe=True, epochs=15):
    model = build(probe)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3 if probe else 1e-5)
    train = DataLoader(FundusGrading(root, "train"), 64, shuffle=True, num_workers=8)
    val = DataLoader(FundusGrading(root, "val"), 128, num_workers=8)
    ce = nn.CrossEntropyLoss()
    for e in range(epochs):
        print(e, epoch(model, train, ce, opt), epoch(model, val, ce))


if __name__ == "__main__":
    main()
