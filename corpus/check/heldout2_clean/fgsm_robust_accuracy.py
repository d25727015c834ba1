import torch
import torch.nn.functional as F


def robust_accuracy(model, loader, eps=8 / 255):
    """Evaluation that needs the gradient of its input."""
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)
    hits = total = 0
    for x, y in loader:
        x, y = x.cuda().requires_grad_(True), y.cuda()
        loss = F.cross_entropy(model(x), y)
        grad, = torch.autograd.grad(loss, x)
        adv = (x + eps * grad.sign()).clamp(0, 1).detach()
        with torch.no_grad():
            hits += (model(adv).argmax(1) == y).sum().item()
        total += len(y)
    return hits / total
