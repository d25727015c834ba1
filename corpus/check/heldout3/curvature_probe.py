"""Logs the top Hessian eigenvalue while a small ResNet trains."""
import torch
import torch.nn as nn
from torchvision.models import resnet18


def top_eigenvalue(net, loss, iters=20):
    params = [p for p in net.parameters() if p.requires_grad]
    loss.backward(create_graph=True)
    vec = [torch.randn_like(p) for p in params]
    value = 0.0
    for i in range(iters):
        norm = torch.sqrt(sum(v.pow(2).sum() for v in vec))
        vec = [v / norm for v in vec]
        dot = sum((p.grad * v).sum() for p, v in zip(params, vec))
        hv = torch.autograd.grad(dot, params, retain_graph=i < iters - 1)
        value = sum((a * b).sum() for a, b in zip(hv, vec)).item()
        vec = [h.detach() for h in hv]
    return value


def train(loader, probe, epochs=30):
    net = resnet18(num_classes=10).cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    ce = nn.CrossEntropyLoss()
    px, py = (t.cuda() for t in probe)
    curve = []
    for epoch in range(epochs):
        for x, y in loader:
            loss = ce(net(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        curve.append(top_eigenvalue(net, ce(net(px), py)))
        print(epoch, loss.item(), curve[-1])
    return curve
