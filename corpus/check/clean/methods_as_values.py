import torch


class Hooks:
    def __init__(self, model, opt):
        self.before = [opt.zero_grad]
        self.after = [opt.step]
        self.cleanup = torch.cuda.empty_cache
        self.switch = {"train": model.train, "eval": model.eval}

    def run(self, name):
        return self.switch[name]()


def step(hooks, loss):
    for f in hooks.before:
        f()
    loss.backward()
    for f in hooks.after:
        f()
