"""Lightning with a long epoch: validation of two loaders within and after it, a checkpoint, a test at the end."""

import sys

import lightning
import torch
from torch.nn.functional import cross_entropy


class Numbers(torch.utils.data.IterableDataset):
    def __iter__(self):
        while True:
            yield torch.randn(32), 1


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
        self.validated = [0, 0]
        self.epochs = self.tested = 0

    def loss(self, batch):
        return cross_entropy(self.net(batch[0]), batch[1])

    def training_step(self, batch, _index):
        return self.loss(batch)

    def validation_step(self, batch, _index, dataloader_idx=0):
        self.validated[dataloader_idx] += 1
        self.log("validation_loss", self.loss(batch))

    def test_step(self, batch, _index):
        self.tested += 1
        self.log("test_loss", self.loss(batch))

    def on_train_epoch_end(self):
        self.epochs += 1

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = torch.utils.data.TensorDataset(torch.randn(8000, 32), torch.randint(0, 2, (8000,)))
is_stream = "stream" in sys.argv
training = torch.utils.data.DataLoader(Numbers() if is_stream else data, batch_size=8)
other = torch.utils.data.DataLoader(data, batch_size=16)
options = {} if is_stream else {"val_check_interval": 0.25}
trainer = lightning.Trainer(max_epochs=50, accelerator="gpu", devices=1, num_sanity_val_steps=0, **options)
model = Classifier()
trainer.fit(model, training, [other, other])
assert min(model.validated) >= 5, model.validated
assert model.epochs >= 2, model.epochs
trainer.test(model, other)
assert model.tested >= 3
