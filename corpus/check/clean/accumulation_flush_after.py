import torch


class Trainer:
    def __init__(self, model, opt, every):
        self.model, self.opt, self.every = model, opt, every

    def _update(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)

    def epoch(self, loader):
        pending = 0
        for batch in loader:
            loss = self.model(**batch).loss
            (loss / self.every).backward()
            pending += 1
            if pending == self.every:
                self._update()
                pending = 0
        if pending:
            self._update()
