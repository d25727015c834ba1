from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast
from diffusers import DDPMScheduler

from dp.model import ConditionalUnet1D, ObsEncoder
from dp.data import make_loader


@dataclass
class Cfg:
    horizon: int = 16
    accum: int = 8
    micro_bs: int = 32
    lr: float = 1e-4
    epochs: int = 300


class Trainer:
    def __init__(self, cfg: Cfg):
        self.cfg = cfg
        self.enc = ObsEncoder().cuda()
        self.unet = ConditionalUnet1D(input_dim=10, global_cond_dim=512).cuda()
        self.sched = DDPMScheduler(num_train_timesteps=100)
        params = [*self.enc.parameters(), *self.unet.parameters()]
        self.opt = torch.optim.AdamW(params, lr=cfg.lr)
        self.scaler = GradScaler()
        self.loader = make_loader(cfg.micro_bs)

    def loss(self, batch):
        act = batch["action"].cuda()
        noise = torch.randn_like(act)
        t = torch.randint(0, 100, (act.shape[0],), device=act.device)
        noisy = self.sched.add_noise(act, noise, t)
        with autocast():
            cond = self.enc(batch["image"].cuda(), batch["qpos"].cuda())
            return F.mse_loss(self.unet(noisy, t, global_cond=cond), noise)

    def run_epoch(self):
        for step, batch in enumerate(self.loader, start=1):
            self.opt.zero_grad()
            loss = self.loss(batch) / self.cfg.accum
            self.scaler.scale(loss).backward()
            # step every 8 micro batches -> effective batch 256
            if step % self.cfg.accum == 0 or step == len(self.loader):
                self.scaler.step(self.opt)
                self.scaler.update()


if __name__ == "__main__":
    tr = Trainer(Cfg())
    for _ in range(tr.cfg.epochs):
        tr.run_epoch()
