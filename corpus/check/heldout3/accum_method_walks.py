from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader


@dataclass
class Config:
    accumulate: int = 8
    updates: int = 20_000
    lr: float = 1e-3
    log_every: int = 50


class ContrastiveTrainer:
    """Image/text contrastive training with gradient accumulation."""

    def __init__(self, image_net: nn.Module, text_net: nn.Module, loader: DataLoader, cfg: Config):
        self.image_net, self.text_net = image_net.cuda(), text_net.cuda()
        self.loader, self.cfg = loader, cfg
        params = [*image_net.parameters(), *text_net.parameters()]
        self.opt = torch.optim.AdamW(params, lr=cfg.lr)
        self.scale = 1 / 0.07

    def loss(self, image, text):
        a = nn.functional.normalize(self.image_net(image), dim=-1)
        b = nn.functional.normalize(self.text_net(text), dim=-1)
        sim = self.scale * a @ b.t()
        y = torch.arange(len(a), device=a.device)
        return 0.5 * (nn.functional.cross_entropy(sim, y) + nn.functional.cross_entropy(sim.t(), y))

    def accumulate_once(self):
        value = 0.0
        for image, text in self.loader:
            loss = self.loss(image.cuda(), text.cuda()) / self.cfg.accumulate
            loss.backward()
            value = loss.item()
        return value

    def run(self):
        for update in range(self.cfg.updates):
            self.opt.zero_grad()
            value = 0.0
            for _ in range(self.cfg.accumulate):
                value += self.accumulate_once()
            self.opt.step()
            if update % self.cfg.log_every == 0:
                print(update, value)
