"""Input gradients need the graph although the model is in eval mode."""
import torch


def saliency(model, images, labels):
    model.eval()
    maps = []
    for x, y in zip(images.split(8), labels.split(8)):
        x = x.cuda().requires_grad_(True)
        score = model(x).gather(1, y.cuda()[:, None]).sum()
        (g,) = torch.autograd.grad(score, x)
        maps.append(g.abs().amax(1).cpu())
    return torch.cat(maps)


def fgsm(model, x, y, eps):
    model.eval()
    adv = x.clone().requires_grad_(True)
    loss = torch.nn.functional.cross_entropy(model(adv), y)
    (g,) = torch.autograd.grad(loss, adv)
    return (adv + eps * g.sign()).detach()
