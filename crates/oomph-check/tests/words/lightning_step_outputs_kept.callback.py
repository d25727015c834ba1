import lightning as L
import torch


class Collect(L.Callback):
    def __init__(self):
        self.preds = []

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.preds.append(pl_module(batch[0]))  # <-

    def on_validation_epoch_end(self, trainer, pl_module):
        print(torch.cat(self.preds).shape)
