"""The first backward must keep the graph; the last one must not, and does not."""
import torch
from torch import nn


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.a, self.b = nn.Sequential(nn.Linear(64, 512), nn.ReLU()), nn.Linear(512, 1), nn.Linear(512, 8)

    def forward(self, x):
        h = self.body(x)
        return self.a(h), self.b(h)


def main():
    net = Twin().cuda()
    opt = torch.optim.SGD(net.parameters(), 0.01)
    for step in range(1000):
        x = torch.randn(256, 64, device="cuda")
        u, v = net(x)
        reg = u.squeeze(1).sub(x.sum(1)).pow(2).mean()
        cls = nn.functional.cross_entropy(v, x[:, :8].argmax(1))
        opt.zero_grad()
        reg.backward(retain_graph=True)
        first = [None if p.grad is None else p.grad.norm().item() for p in net.body.parameters()]
        cls.backward()
        opt.step()
        if step % 100 == 0:
            print(step, reg.item(), cls.item(), first)


if __name__ == "__main__":
    main()
