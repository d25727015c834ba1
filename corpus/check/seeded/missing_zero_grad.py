import torch
from torch import nn, optim


class BaseTrainer:
    def __init__(self, model, loader):
        self.model, self.loader = model.cuda(), loader
        self.criterion = nn.MSELoss()
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-5)

    def train(self):
        self.model.train()
        for batch in self.loader:
            out = self.model(batch[0].float().cuda())
            loss = self.criterion(torch.sigmoid(out), batch[1].cuda())
            loss.backward()
            self.optimizer.step()
