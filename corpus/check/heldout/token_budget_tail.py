"""Updates once enough target tokens were seen."""
import torch


class BudgetTrainer:
    def __init__(self, model, opt, criterion, budget=25_000):
        self.model, self.opt, self.criterion, self.budget = model, opt, criterion, budget

    def run_epoch(self, loader):
        tokens = 0
        self.opt.zero_grad()
        for batch in loader:
            src, tgt = (t.cuda() for t in batch)
            logits = self.model(src, tgt[:, :-1])
            loss = self.criterion(logits.transpose(1, 2), tgt[:, 1:]) / self.budget
            loss.backward()
            tokens += int((tgt != 0).sum())
            if tokens >= self.budget:
                self.opt.step()
                self.opt.zero_grad()
                tokens = 0

    def fit(self, loader, epochs):
        for e in range(epochs):
            self.run_epoch(loader)
