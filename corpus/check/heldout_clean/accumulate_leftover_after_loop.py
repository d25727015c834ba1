import torch


class Stepper:
    def __init__(self, params, every):
        self.opt = torch.optim.AdamW(params, lr=1e-4)
        self.every, self.pending = every, 0

    def done(self):
        self.pending += 1
        if self.pending == self.every:
            self.flush()

    def flush(self):
        if self.pending:
            self.opt.step()
            self.opt.zero_grad()
            self.pending = 0


def run(model, loader, loss_fn, every=16):
    stepper = Stepper(model.parameters(), every)
    for x, y in loader:
        (loss_fn(model(x.cuda()), y.cuda()) / every).backward()
        stepper.done()
    stepper.flush()
