"""Lecture 3: what an optimizer does. Students replace this with torch.optim next week."""
import torch
import torch.nn.functional as F
from torchvision.models import wide_resnet50_2

from lecture_data import imagenette


def sgd_momentum(params, buf, lr, mu):
    with torch.no_grad():
        for p, b in zip(params, buf):
            b.mul_(mu).add_(p.grad)
            p.sub_(lr * b)


def clear(params):
    for p in params:
        if p.grad is not None:
            p.grad.zero_()


def main(epochs=5, lr=0.05, mu=0.9):
    net = wide_resnet50_2(num_classes=10).cuda()
    params = list(net.parameters())
    buf = [torch.zeros_like(p) for p in params]
    for epoch in range(epochs):
        right = seen = 0
        for x, y in imagenette("train", 64):
            x, y = x.cuda(), y.cuda()
            clear(params)
            out = net(x)
            F.cross_entropy(out, y).backward()
            sgd_momentum(params, buf, lr, mu)
            right += (out.argmax(1) == y).sum().item()
            seen += len(y)
        print(f"epoch {epoch}: {right / seen:.3f}")


if __name__ == "__main__":
    main()
