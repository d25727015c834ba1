"""A generator and a critic, an optimizer each, gradients through one into the other."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def block(before, after, up):
    scale = nn.Upsample(scale_factor=2) if up else nn.AvgPool2d(2)
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(8, after), nn.SiLU(), nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(8, after), nn.SiLU(), scale)


generator = nn.Sequential(nn.Linear(128, 256 * 64), nn.Unflatten(1, (256, 8, 8)), block(256, 256, True), block(256, 128, True), block(128, 64, True), nn.Conv2d(64, 3, 3, padding=1), nn.Tanh()).cuda()
critic = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), block(64, 128, False), block(128, 256, False), block(256, 256, False), nn.Flatten(), nn.Linear(256 * 64, 1)).cuda()
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.99))
of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.99))
loader = DataLoader(TensorDataset(torch.randn(640, 3, 64, 64)), batch_size=64, shuffle=True)
for (real,) in loader:
    real = real.cuda()
    fake = generator(torch.randn(real.shape[0], 128, device="cuda"))
    loss_critic = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
    of_critic.zero_grad()
    loss_critic.backward()
    of_critic.step()
    loss_generator = F.softplus(-critic(fake)).mean()
    of_generator.zero_grad()
    loss_generator.backward()
    of_generator.step()
    print(loss_critic.item(), loss_generator.item())
