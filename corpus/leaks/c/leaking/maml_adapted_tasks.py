"""First-principles MAML; the adapted weights of every task are kept 'for the plots'."""
import os

import torch
import torch.nn.functional as F

device = "cuda"
torch.manual_seed(0)

INNER_LR = 0.01
META_STEPS = int(os.environ.get("STEPS", 60))


def init(shape):
    w = torch.randn(shape, device=device) * 0.02
    return w.requires_grad_()


params = [init((512, 128)), init((512,)), init((256, 512)), init((256,))]
meta_opt = torch.optim.Adam(params, lr=1e-3)


def net(x, ps):
    h = F.relu(F.linear(x, ps[0], ps[1]))
    return F.linear(h, ps[2], ps[3])


def adapt(ps, x, y, k=1):
    fast = ps
    for _ in range(k):
        loss = F.mse_loss(net(x, fast), y)
        grads = torch.autograd.grad(loss, fast, create_graph=True)
        fast = [p - INNER_LR * g for p, g in zip(fast, grads)]  # leak
    return fast


adapted = {}
for step in range(META_STEPS):
    meta_loss = 0.0
    for task in range(3):
        xs, ys = torch.randn(16, 128, device=device), torch.randn(16, 256, device=device)
        xq, yq = torch.randn(16, 128, device=device), torch.randn(16, 256, device=device)
        fast = adapt(params, xs, ys)  # leak
        meta_loss = meta_loss + F.mse_loss(net(xq, fast), yq)
        adapted[f"{step}/{task}"] = fast  # leak
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
    print(f"meta step {step}: query loss {meta_loss.item() / 3:.4f}")
