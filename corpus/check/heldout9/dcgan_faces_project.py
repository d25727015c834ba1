"""DCGAN on celebrity faces - course project, group 12."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

Z = 100


def up(i, o):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))


def down(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2, True))


painter = nn.Sequential(nn.ConvTranspose2d(Z, 512, 4, 1, 0), nn.ReLU(True), up(512, 256), up(256, 128), up(128, 64),
                        nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).cuda()
critic = nn.Sequential(down(3, 64), down(64, 128), down(128, 256), down(256, 512),
                       nn.Conv2d(512, 1, 4, 1, 0), nn.Flatten()).cuda()

tf = transforms.Compose([transforms.Resize(64), transforms.CenterCrop(64), transforms.ToTensor()])
faces = DataLoader(datasets.ImageFolder("celeba", tf), 128, shuffle=True, num_workers=4, drop_last=True)
bce = nn.BCEWithLogitsLoss()
optP = torch.optim.Adam(painter.parameters(), 2e-4, betas=(0.5, 0.999))
optC = torch.optim.Adam(critic.parameters(), 2e-4, betas=(0.5, 0.999))
gallery = []

for epoch in range(30):
    for i, (real, _) in enumerate(faces):
        real = real.cuda()
        noise = torch.randn(len(real), Z, 1, 1, device="cuda")
        forged = painter(noise)

        said_real = critic(real)
        said_fake = critic(forged)
        c_loss = bce(said_real, torch.ones_like(said_real)) + bce(said_fake, torch.zeros_like(said_fake))
        optC.zero_grad()
        c_loss.backward()
        optC.step()

        forged = painter(torch.randn(len(real), Z, 1, 1, device="cuda"))
        verdict = critic(forged)
        p_loss = bce(verdict, torch.ones_like(verdict))
        optP.zero_grad()
        p_loss.backward()
        optP.step()
        if i % 500 == 0:
            # sample for the report, printed at the very end
            with torch.no_grad():
                gallery.append(painter(torch.randn(64, Z, 1, 1, device="cuda")).cpu())
    print(epoch, c_loss.item(), p_loss.item())

from torchvision.utils import save_image

for k, g in enumerate(gallery):
    save_image(g, f"gallery_{k:04d}.png", normalize=True)
