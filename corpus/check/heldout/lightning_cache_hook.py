import lightning as L
import torch
from torch import nn
from torchvision.models import efficientnet_b4


class Classifier(L.LightningModule):
    def __init__(self, num_classes=1000, lr=1e-3):
        super().__init__()
        self.net = efficientnet_b4(num_classes=num_classes)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.lr = lr

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.criterion(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def on_train_batch_end(self, outputs, batch, batch_idx):
        torch.cuda.empty_cache()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)
