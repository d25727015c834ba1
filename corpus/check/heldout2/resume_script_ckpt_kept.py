import torch
from models import Diffusion
from data import loader

device = torch.device("cuda")
model = Diffusion().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
checkpoint = torch.load("run/last.ckpt", map_location=device)
model.load_state_dict(checkpoint["model"])
opt.load_state_dict(checkpoint["opt"])
start = checkpoint["step"]

for step, x in enumerate(loader, start=start):
    x = x.to(device)
    t = torch.randint(0, 1000, (len(x),), device=device)
    noise = torch.randn_like(x)
    loss = (model(x, t, noise) - noise).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
