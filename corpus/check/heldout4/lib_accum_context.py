"""smalltrain.accumulate: gradient accumulation as a wrapper around the loader."""
import contextlib

import torch


class Accumulator:
    def __init__(self, optimizer, every):
        self.optimizer, self.every, self.count = optimizer, every, 0

    @property
    def ready(self):
        return self.count % self.every == 0

    @contextlib.contextmanager
    def micro(self):
        self.count += 1
        yield 1.0 / self.every
        if self.ready:
            self.optimizer.step()


def fit(model, loader, loss_fn, optimizer, every=4, epochs=1, device="cuda"):
    acc = Accumulator(optimizer, every)
    model.to(device).train()
    for epoch in range(epochs):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            model.zero_grad(set_to_none=True)
            with acc.micro() as scale:
                loss = loss_fn(model(x), y) * scale
                loss.backward()
        print(f"epoch {epoch}: last loss {loss.item() / scale:.4f}")
    return model
