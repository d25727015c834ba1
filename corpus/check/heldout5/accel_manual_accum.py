"""Diffusion fine-tune with accelerate; accumulation done by hand because of a custom EMA."""
import torch
from accelerate import Accelerator
from diffusers import DDPMScheduler, UNet2DConditionModel
from torch.utils.data import DataLoader


class Config:
    base = "stabilityai/stable-diffusion-2-1-base"
    micro = 2
    accumulate_every = 16
    lr = 1e-5
    max_steps = 20000


def loss_for(unet, sched, batch):
    lat, txt = batch["latents"], batch["text"]
    noise = torch.randn_like(lat)
    t = torch.randint(0, sched.config.num_train_timesteps, (lat.size(0),), device=lat.device)
    pred = unet(sched.add_noise(lat, noise, t), t, txt).sample
    return torch.nn.functional.mse_loss(pred.float(), noise.float())


def main(dataset):
    cfg = Config()
    acc = Accelerator(mixed_precision="fp16")
    unet = UNet2DConditionModel.from_pretrained(cfg.base, subfolder="unet", torch_dtype=torch.float32)
    sched = DDPMScheduler.from_pretrained(cfg.base, subfolder="scheduler")
    opt = torch.optim.AdamW(unet.parameters(), cfg.lr)
    unet, opt, dl = acc.prepare(unet, opt, DataLoader(dataset, cfg.micro, shuffle=True))
    micro_step = 0
    while micro_step < cfg.max_steps * cfg.accumulate_every:
        for batch in dl:
            loss = loss_for(unet, sched, batch) / cfg.accumulate_every
            opt.zero_grad()
            acc.backward(loss)
            micro_step += 1
            if micro_step % cfg.accumulate_every == 0:
                acc.clip_grad_norm_(unet.parameters(), 1.0)
                opt.step()
                acc.print(micro_step, loss.item())
