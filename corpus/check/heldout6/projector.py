"""Find the latent code of a photo by optimisation."""
import torch
import torch.nn.functional as F


class Features:
    def __init__(self, vgg, names):
        self.vgg, self.names, self.out = vgg.eval(), names, []

    def __call__(self, x):
        taps = []
        for n, m in self.vgg.named_modules():
            if n in self.names:
                m.register_forward_hook(lambda mod, i, o: taps.append(o))
        self.vgg(x)
        return taps


def project(G, feats, target, steps=500, lr=0.1):
    w = torch.zeros(1, 512, device="cuda", requires_grad=True)
    opt = torch.optim.Adam([w], lr=lr)
    with torch.no_grad():
        goal = feats(target)
    best, best_w = float("inf"), None
    trail = []
    for k in range(steps):
        img = G(w)
        loss = sum(F.mse_loss(a, b) for a, b in zip(feats(img), goal))
        opt.zero_grad()
        loss.backward()
        opt.step()
        trail.append(img.detach().cpu())
        if loss.item() < best:
            best, best_w = loss.item(), w.detach().clone()
    return best_w, trail
