import torch
from accelerate import Accelerator
from diffusers import DDPMScheduler, UNet2DModel


def main(dataset, steps_per_update=4):
    accelerator = Accelerator()
    unet = UNet2DModel(sample_size=64)
    noise_scheduler = DDPMScheduler(1000)
    opt = torch.optim.AdamW(unet.parameters(), lr=1e-4)
    loader = torch.utils.data.DataLoader(dataset, batch_size=16, shuffle=True)
    unet, opt, loader = accelerator.prepare(unet, opt, loader)
    step_losses = []
    for i, clean in enumerate(loader):
        noise = torch.randn_like(clean)
        t = torch.randint(1000, (len(clean),), device=clean.device)
        noisy = noise_scheduler.add_noise(clean, noise, t)
        loss = torch.nn.functional.mse_loss(unet(noisy, t).sample, noise)
        step_losses.append(loss)
        if len(step_losses) == steps_per_update:
            accelerator.backward(torch.stack(step_losses).mean())
            opt.step()
            opt.zero_grad()
            step_losses = []
            torch.cuda.empty_cache()
