import torch

from .meters import History, Mean


class Trainer:
    def __init__(self, model, opt, loss_fn, callbacks=(), device="cuda", accumulate=1):
        self.model = model.to(device)
        self.opt, self.loss_fn = opt, loss_fn
        self.callbacks = list(callbacks)
        self.device = device
        self.accumulate = accumulate
        self.history = History()

    def _fire(self, name, *args):
        for cb in self.callbacks:
            getattr(cb, name)(self, *args)

    def _forward(self, batch):
        x, y = (t.to(self.device) for t in batch)
        out = self.model(x)
        return out, self.loss_fn(out, y)

    def fit(self, train, val, epochs):
        for epoch in range(epochs):
            self.model.train()
            for i, batch in enumerate(train):
                out, loss = self._forward(batch)
                (loss / self.accumulate).backward()
                if (i + 1) % self.accumulate == 0 or i + 1 == len(train):
                    self.opt.step()
                    self.opt.zero_grad()
                self._fire("on_batch_end", batch, out, loss)
            self.history.put("val", self.evaluate(val))
            self._fire("on_epoch_end", epoch)

    def evaluate(self, val):
        self.model.eval()
        mean = Mean()
        for batch in val:
            _, loss = self._forward(batch)
            mean.add(loss, len(batch[0]))
        return float(mean.value())

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict()}, path)
