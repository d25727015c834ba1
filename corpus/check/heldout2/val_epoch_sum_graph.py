import torch


class CcipTrainer:
    def __init__(self, model, opt, device):
        self.model, self.opt, self.device = model, opt, device

    def train_one_epoch(self, loader):
        self.model.train()
        seen, summed = 0, 0.0
        for cad, image in loader:
            self.opt.zero_grad()
            loss = self.model(cad.to(self.device), image.to(self.device), return_loss=True)
            loss.backward()
            self.opt.step()
            summed += loss.item()
            seen += 1
        return summed / seen

    def val_one_epoch(self, loader):
        self.model.eval()
        summed = 0.0
        for cad, image in loader:
            loss = self.model(cad.to(self.device), image.to(self.device), return_loss=True)
            summed = summed + loss
        return summed / len(loader)
