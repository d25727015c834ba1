import torch.nn.functional as F


def train(trunk, head_a, head_b, loader, opt_a, opt_b):
    for x, ya, yb in loader:
        z = trunk(x.cuda())
        la = F.cross_entropy(head_a(z), ya.cuda())
        lb = F.l1_loss(head_b(z).squeeze(-1), yb.cuda())
        opt_a.zero_grad()
        opt_b.zero_grad()
        la.backward(retain_graph=True)
        lb.backward()
        opt_a.step()
        opt_b.step()
