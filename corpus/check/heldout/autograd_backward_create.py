import torch
from torch import autograd


def sam_like(model, criterion, loader, opt, rho=0.05):
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        opt.zero_grad()
        loss = criterion(model(x), y)
        autograd.backward(loss, create_graph=True)
        flat = torch.stack([p.grad.norm() for p in model.parameters()])
        sharp = rho * flat.norm()
        autograd.backward(sharp)
        opt.step()
        print(loss.item(), sharp.item())
