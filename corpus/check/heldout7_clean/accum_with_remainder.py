import torch
from torch.amp import GradScaler, autocast


class Trainer:
    def __init__(self, model, loader, lr=3e-4, accum=6):
        self.model, self.loader, self.accum = model.cuda(), loader, accum
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.scaler = GradScaler("cuda")

    def _update(self):
        self.scaler.unscale_(self.opt)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad()

    def epoch(self):
        self.model.train()
        self.opt.zero_grad()
        n, total = len(self.loader), 0.0
        for i, (vol, lab) in enumerate(self.loader, 1):
            with autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.binary_cross_entropy_with_logits(self.model(vol.cuda()), lab.cuda())
            self.scaler.scale(loss / self.accum).backward()
            total += loss.item()
            if i % self.accum == 0 or i == n:
                self._update()
        return total / n
