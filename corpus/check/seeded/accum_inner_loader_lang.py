import torch


class Runner:
    def __init__(self, model, loader, opt, cfg):
        self.model, self.loader, self.opt, self.cfg = model, loader, opt, cfg

    def one_update(self):
        for k in range(self.cfg.gradient_accumulation_steps):
            for batch in self.loader:
                loss = self.model(batch["ids"].cuda(), labels=batch["labels"].cuda()).loss
                (loss / self.cfg.gradient_accumulation_steps).backward()
        self.opt.step()
        self.opt.zero_grad()

    def run(self):
        for update in range(self.cfg.updates):
            self.one_update()
