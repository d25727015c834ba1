import torch


def denoise(net, x, t):
    return net(x, t)


@torch.inference_mode()
def sample(net, n, steps, device="cuda"):
    net.eval()
    x = torch.randn(n, 3, 64, 64, device=device)
    frames = []
    for i in reversed(range(steps)):
        t = torch.full((n,), i, device=device)
        x = x - denoise(net, x, t) / steps
        if i % 50 == 0:
            frames.append(x.cpu())
    return x, frames
