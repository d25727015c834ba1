import torch
from torch import nn


class FineTuner:
    def __init__(self, net, path, lr=1e-5):
        self.device = "cuda"
        self.net = net.to(self.device)
        self.checkpoint = torch.load(path, map_location=self.device)
        self.net.load_state_dict(self.checkpoint["state_dict"])
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=lr)

    def fit(self, loader, epochs):
        crit = nn.CrossEntropyLoss()
        for _ in range(epochs):
            for x, y in loader:
                self.opt.zero_grad()
                crit(self.net(x.to(self.device)), y.to(self.device)).backward()
                self.opt.step()
