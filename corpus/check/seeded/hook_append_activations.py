import torch
import torchvision


class Probe:
    def __init__(self, model, names):
        self.acts = []
        self.handles = []
        for n, m in model.named_modules():
            if n in names:
                self.handles.append(m.register_forward_hook(self.hook))

    def hook(self, module, inp, out):
        self.acts.append(out)


def train(loader):
    net = torchvision.models.resnet50().cuda()
    probe = Probe(net, {"layer3", "layer4"})
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(len(probe.acts))
