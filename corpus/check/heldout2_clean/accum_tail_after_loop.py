import torch


class Trainer:
    def __init__(self, model, opt, crit, k):
        self.model, self.opt, self.crit, self.k = model, opt, crit, k

    def _update(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.opt.zero_grad()

    def epoch(self, loader):
        self.opt.zero_grad()
        pending = 0
        for x, y in loader:
            loss = self.crit(self.model(x.cuda()), y.cuda())
            (loss / self.k).backward()
            pending += 1
            if pending == self.k:
                self._update()
                pending = 0
        if pending:
            self._update()
