import torch
from torch.utils.data import DataLoader

from diffusion import LatentUNet, NoiseScheduler
from latents import LatentFolder

DEVICE = "cuda:0"


def main(path="unet_ema_900k.pt", steps=100_000, lr=1e-5):
    ckpt = torch.load(path, map_location=DEVICE, weights_only=True)
    unet = LatentUNet(**ckpt["config"]).to(DEVICE)
    unet.load_state_dict(ckpt["ema"])
    opt = torch.optim.AdamW(unet.parameters(), lr=lr, weight_decay=0.01)
    opt.load_state_dict(ckpt["optimizer"])
    sched = NoiseScheduler(1000, DEVICE)
    data = DataLoader(LatentFolder("/fast/latents"), 32, shuffle=True, num_workers=8, pin_memory=True, drop_last=True)

    step = 0
    while step < steps:
        for z, text in data:
            z, text = z.to(DEVICE, non_blocking=True), text.to(DEVICE, non_blocking=True)
            noise = torch.randn_like(z)
            t = torch.randint(0, 1000, (z.size(0),), device=DEVICE)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                pred = unet(sched.add(z, noise, t), t, text)
            loss = (pred.float() - noise).pow(2).mean()
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            step += 1
            if step % 500 == 0:
                print(step, loss.item())
            if step >= steps:
                break
    torch.save(unet.state_dict(), "finetuned.pt")


if __name__ == "__main__":
    main()
