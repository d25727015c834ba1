import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from dataset import Cells
from unet import UNet

device = "cuda:0"
net = UNet(3, 1).to(device)
opt = torch.optim.RMSprop(net.parameters(), lr=1e-5)
crit = nn.BCEWithLogitsLoss()
train_dl = DataLoader(Cells("train"), batch_size=8, shuffle=True)
val_dl = DataLoader(Cells("val"), batch_size=8)

for epoch in range(30):
    net.train()
    for img, mask in train_dl:
        opt.zero_grad()
        loss = crit(net(img.to(device)), mask.to(device))
        loss.backward()
        opt.step()

    net.eval()
    correct = pixels = 0
    for img, mask in val_dl:
        logit = net(img.to(device))
        correct += ((logit > 0).float().cpu() == mask).sum().item()
        pixels += mask.numel()
    print(f"epoch {epoch}: {correct / pixels:.4f}")
