import torch
import torch.nn as nn
import segmentation_models_pytorch as smp
from torch.utils.data import DataLoader

from hubmap import HuBMAPTiles

device = "cuda"
model = smp.FPN("resnet34", classes=1).to(device)
bce = nn.BCEWithLogitsLoss()
opt = torch.optim.AdamW(model.parameters(), 1e-4)
train_dl = DataLoader(HuBMAPTiles("train", 512), 24, shuffle=True, num_workers=2)
valid_dl = DataLoader(HuBMAPTiles("valid", 512), 24, num_workers=2)


def dice_coef(prob, target, eps=1e-6):
    inter = (prob * target).sum(dim=(1, 2, 3))
    return ((2 * inter + eps) / (prob.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3)) + eps)).mean()


for epoch in range(30):
    model.train()
    epoch_loss, epoch_dice = 0, 0
    for img, mask in train_dl:
        img, mask = img.to(device), mask.to(device)
        out = model(img)
        loss = bce(out, mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        epoch_loss += loss
        epoch_dice += dice_coef(torch.sigmoid(out), mask)
    print(f"{epoch}: loss {epoch_loss / len(train_dl):.4f} dice {epoch_dice / len(train_dl):.4f}")

    model.eval()
    with torch.no_grad():
        vd = 0.0
        for img, mask in valid_dl:
            vd += dice_coef(torch.sigmoid(model(img.to(device))), mask.to(device)).item()
    print("    valid dice", vd / len(valid_dl))
