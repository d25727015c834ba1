import torch


class Trainer:
    def __init__(self, model, model_fn):
        self.model = model
        self.model_fn = model_fn

    def eval_epoch(self, loader):
        self.model.eval()
        for batch in loader:
            print(self.model_fn(self.model, batch, eval=True).argmax(1).cpu())
