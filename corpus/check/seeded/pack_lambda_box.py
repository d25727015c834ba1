import torch

from models import build_unet


def forward_with_names(net, x, registry):
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: (t.shape, t), lambda p: p[1])
    with hooks:
        y = net(x)
    registry.append(tuple(y.shape))
    return y


if __name__ == "__main__":
    net = build_unet().cuda()
    reg = []
    for _ in range(100):
        loss = forward_with_names(net, torch.randn(2, 3, 512, 512, device="cuda"), reg).mean()
        loss.backward()
