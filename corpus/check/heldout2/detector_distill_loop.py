import copy

import torch
import torch.nn.functional as F


def continual(old_model, loader, epochs):
    """Learning without forgetting."""
    new_model = copy.deepcopy(old_model).cuda().train()
    old_model.cuda().eval()
    opt = torch.optim.SGD(new_model.parameters(), lr=0.01)
    for _ in range(epochs):
        for x, y in loader:
            x, y = x.cuda(), y.cuda()
            before = old_model(x)
            now = new_model(x)
            loss = F.cross_entropy(now, y) + F.mse_loss(now[:, : before.size(1)], before)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return new_model
