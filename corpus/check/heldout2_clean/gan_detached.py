import torch
import torch.nn.functional as F


def gan_step(G, D, real, opt_g, opt_d, dim):
    ones = torch.ones(len(real), 1, device=real.device)
    fake = G(torch.randn(len(real), dim, device=real.device))
    opt_d.zero_grad()
    d_loss = F.binary_cross_entropy_with_logits(D(real), ones)
    d_loss = d_loss + F.binary_cross_entropy_with_logits(D(fake.detach()), 1 - ones)
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = F.binary_cross_entropy_with_logits(D(fake), ones)
    g_loss.backward()
    opt_g.step()
    return d_loss.item(), g_loss.item()
