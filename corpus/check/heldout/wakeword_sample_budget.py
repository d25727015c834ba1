import torch
from torch import nn, optim


class WakeWordTrainer:
    """Accumulates until enough hard samples were seen, then updates."""

    def __init__(self, model, lr=1e-4, min_samples=128):
        self.model = model
        self.optimizer = optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.BCELoss(reduction="none")
        self.min_samples = min_samples

    def train(self, feed, max_steps):
        seen = 0
        for i, (mel, label) in enumerate(feed):
            if i >= max_steps:
                break
            self.model.train()
            mel, label = mel.cuda(), label.cuda().float()
            self.optimizer.zero_grad()
            score = self.model(mel).squeeze(-1)
            hard = (score - label).abs() > 0.01
            if not hard.any():
                continue
            loss = self.criterion(score[hard], label[hard]).mean()
            loss.backward()
            seen += int(hard.sum())
            if seen < self.min_samples:
                continue
            self.optimizer.step()
            seen = 0
