import numpy as np
import torch


class Forecaster:
    def __init__(self, encoder, decoder, loss_func, device):
        self.encoder, self.decoder = encoder.to(device), decoder.to(device)
        self.loss_func, self.device = loss_func, device

    def test(self, loader):
        preds = []
        losses = []
        for past, target_history, target in loader:
            past = past.to(self.device)
            _, encoded = self.encoder(past)
            y = self.decoder(encoded, target_history.to(self.device))
            losses.append(self.loss_func(y, target.to(self.device)).item())
            preds.append(y.detach().cpu().numpy())
        print("test loss", np.mean(losses))
        return np.concatenate(preds)

    def train_epoch(self, loader, opt):
        for past, th, target in loader:
            opt.zero_grad()
            _, enc = self.encoder(past.to(self.device))
            self.loss_func(self.decoder(enc, th.to(self.device)), target.to(self.device)).backward()
            opt.step()
