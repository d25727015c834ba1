import torch


class SafeTrainer:
    def __init__(self, model, opt, loss_fn):
        self.model, self.opt, self.loss_fn = model, opt, loss_fn

    def _step(self, x, y):
        self.opt.zero_grad()
        loss = self.loss_fn(self.model(x.cuda()), y.cuda())
        loss.backward()
        self.opt.step()
        return loss.item()

    def step(self, x, y):
        try:
            return self._step(x, y)
        except RuntimeError as err:
            if "out of memory" not in str(err):
                raise
            print("| WARNING: ran out of memory, splitting the batch")
            torch.cuda.empty_cache()
            parts = [self._step(a, b) for a, b in zip(x.chunk(2), y.chunk(2))]
            return sum(parts) / 2
