import torch
from torch import nn


class TrajectoryModel(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.cell = nn.GRUCell(dim, dim)
        self.head = nn.Linear(dim, 2)
        self.saved = []

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.cell.hidden_size)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
        out = self.head(h)
        self.saved.append(out)
        return out


def train(model, loader, opt):
    for x, goal in loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(x.cuda()), goal.cuda()).backward()
        opt.step()
    torch.save(torch.cat(model.saved).cpu(), "endpoints.pt")
