import torch
from torch import nn
class U(nn.Module):
    def __init__(s):
        super().__init__(); s.a = nn.Conv2d(3, 64, 3, padding=1); s.b = nn.Conv2d(64, 64, 3, padding=1); s.c = nn.Conv2d(64, 3, 3, padding=1)
    def forward(s, x, t): return s.c(torch.relu(s.b(torch.relu(s.a(x))) + t))
u = U().cuda(); ema = U().cuda().eval()
opt = torch.optim.AdamW(u.parameters())
for step in range(60):
    x = torch.randn(16, 3, 64, 64, device="cuda")
    (u(x, 0.5) - x).square().mean().backward(); opt.step(); opt.zero_grad()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), u.parameters()): p.lerp_(q, 0.01)
    if step > 0 and step % 30 == 0:
        img = torch.randn(64, 3, 64, 64, device="cuda")
        with torch.no_grad():
            for t in range(100, 0, -1):
                img = img - 0.01 * ema(img, t / 100)
        del img
