"""Fine-tune LoRA layers of a diffusion transformer on my own photos."""
import torch
from torch.cuda.amp import autocast, GradScaler
from diffusers import AutoencoderKL, UNet2DConditionModel, DDPMScheduler


def parts(name):
    vae = AutoencoderKL.from_pretrained(name, subfolder="vae").to("cuda")
    unet = UNet2DConditionModel.from_pretrained(name, subfolder="unet").to("cuda")
    return vae, unet, DDPMScheduler.from_pretrained(name, subfolder="scheduler")


def main(name, loader, steps, accum=4):
    vae, unet, sched = parts(name)
    for p in vae.parameters():
        p.requires_grad == False
    opt = torch.optim.AdamW(unet.parameters(), lr=1e-5)
    scaler = GradScaler()
    done = 0
    while done < steps:
        for i, batch in enumerate(loader):
            opt.zero_grad()
            with autocast():
                lat = vae.encode(batch["pixels"].cuda()).latent_dist.sample() * 0.18215
                noise = torch.randn_like(lat)
                t = torch.randint(0, 1000, (lat.size(0),), device="cuda")
                pred = unet(sched.add_noise(lat, noise, t), t, batch["text"].cuda()).sample
                loss = torch.nn.functional.mse_loss(pred.float(), noise.float()) / accum
            scaler.scale(loss).backward()
            if (i + 1) % accum == 0:
                scaler.step(opt)
                scaler.update()
                done += 1
        torch.save(unet.state_dict(), f"unet_{done}.pt")
