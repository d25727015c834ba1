import torch


def split(batch, n):
    return zip(*(t.chunk(n) for t in batch))


class LatentTrainer:
    def __init__(self, dit, opt, sched, micro=4):
        self.dit, self.opt, self.sched, self.micro = dit, opt, sched, micro

    def loss(self, z, y):
        t = torch.rand(z.size(0), device=z.device)
        noise = torch.randn_like(z)
        zt = (1 - t.view(-1, 1, 1, 1)) * z + t.view(-1, 1, 1, 1) * noise
        return (self.dit(zt, t, y) - (noise - z)).square().mean()

    def train_one_epoch(self, loader):
        self.dit.train()
        for batch in loader:
            batch = [b.cuda(non_blocking=True) for b in batch]
            for z, y in split(batch, self.micro):
                self.opt.zero_grad(set_to_none=True)
                loss = self.loss(z, y) / self.micro
                loss.backward()
            torch.nn.utils.clip_grad_norm_(self.dit.parameters(), 1.0)
            self.opt.step()
            self.sched.step()
