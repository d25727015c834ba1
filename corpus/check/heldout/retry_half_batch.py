import torch


class SafeStep:
    def __init__(self, model, opt, crit):
        self.model, self.opt, self.crit = model, opt, crit

    def _step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        loss = self.crit(self.model(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()

    def __call__(self, x, y):
        try:
            return self._step(x, y)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            half = len(x) // 2
            a = self._step(x[:half], y[:half])
            b = self._step(x[half:], y[half:])
            return (a + b) / 2
