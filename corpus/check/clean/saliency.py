import torch


def saliency(model, loader):
    model.eval()
    maps = []
    for x, y in loader:
        x = x.cuda().requires_grad_(True)
        score = model(x).gather(1, y.cuda()[:, None]).sum()
        grad, = torch.autograd.grad(score, x)
        maps.append(grad.abs().amax(1).cpu())
    return torch.cat(maps)
