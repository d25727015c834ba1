import torch
import torch.nn.functional as F


def contrastive_step(encoder, views, opt, tau=0.1):
    """The pieces meet in one loss, so their graphs must live together."""
    parts = []
    for view in views:
        parts.append(F.normalize(encoder(view.cuda()), dim=-1))
    z = torch.cat(parts)
    sim = z @ z.t() / tau
    sim.fill_diagonal_(float("-inf"))
    half = len(z) // 2
    target = torch.arange(len(z), device=z.device).roll(half)
    loss = F.cross_entropy(sim, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
