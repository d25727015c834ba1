"""Neural style by L-BFGS: the optimizer's own history grows over the first calls, up to its bound."""
import os

import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)

vgg = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2, padding=1)).to(device)
vgg.requires_grad_(False)


def gram(f):
    b, c, h, w = f.shape
    f = f.view(b, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


content = torch.rand(1, 3, 128, 128, device=device)
style = gram(vgg(torch.rand(1, 3, 128, 128, device=device)))
want = vgg(content)
image = content.clone().requires_grad_(True)
opt = torch.optim.LBFGS([image], lr=0.5, max_iter=4, history_size=8)
losses = []

for call in range(int(os.environ.get("STEPS", 60))):
    calls = 0

    def closure():
        global calls
        calls += 1
        opt.zero_grad()
        f = vgg(image)
        loss = nn.functional.mse_loss(f, want) + 1e3 * nn.functional.mse_loss(gram(f), style)
        loss.backward()
        return loss

    losses.append(float(opt.step(closure)))
    print(f"call {call}: loss {losses[-1]:.6f} after {calls} evaluations")
