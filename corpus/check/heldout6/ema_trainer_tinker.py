import copy
import torch


class EMA:
    def __init__(self, model, decay=0.9999):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            if v.dtype.is_floating_point:
                self.shadow[k].lerp_(v, 1 - self.decay)


class Run:
    def __init__(self, model, loader, val, lr):
        self.model, self.loader, self.val = model.cuda(), loader, val
        self.opt = torch.optim.AdamW(model.parameters(), lr)
        self.ema = EMA(self.model)
        self.best = (1e9, None)

    def step(self, x):
        t = torch.rand(x.size(0), device=x.device)
        n = torch.randn_like(x)
        v = self.model(torch.lerp(n, x, t.view(-1, 1, 1, 1)), t)
        return (v - (x - n)).pow(2).mean()

    def validate(self):
        self.model.eval()
        tot = 0.0
        for x, _ in self.val:
            tot += self.step(x.cuda())
        self.model.train()
        return tot / len(self.val)

    def fit(self, epochs):
        for ep in range(epochs):
            for x, _ in self.loader:
                self.opt.zero_grad()
                loss = self.step(x.cuda())
                loss.backward()
                self.opt.step()
                self.ema.update(self.model)
            v = float(self.validate())
            if v < self.best[0]:
                self.best = (v, copy.deepcopy(self.model))
