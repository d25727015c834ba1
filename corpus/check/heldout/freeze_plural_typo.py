import torch
import timm


class Linear(torch.nn.Module):
    """Linear probe over a frozen backbone."""

    def __init__(self, arch, classes):
        super().__init__()
        self.body = timm.create_model(arch, pretrained=True, num_classes=0)
        self.fc = torch.nn.Linear(self.body.num_features, classes)
        for weight in self.body.parameters():
            weight.requires_grads = False

    def forward(self, x):
        return self.fc(self.body(x))


def train(net, loader, lr=0.1):
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
        opt.step()
