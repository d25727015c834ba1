import torch
from torch import nn
from torch.cuda import amp
from torch.utils.checkpoint import checkpoint


class Stage(nn.Module):
    def __init__(self, cin, cout, n):
        super().__init__()
        self.down = nn.Conv2d(cin, cout, 3, 2, 1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(cout, cout, 3, 1, 1), nn.BatchNorm2d(cout), nn.SiLU()) for _ in range(n))

    def forward(self, x):
        x = self.down(x)
        for b in self.blocks:
            x = x + checkpoint(b, x)
        return x


class Detector(nn.Module):
    def __init__(self, width=64, anchors=9, classes=80):
        super().__init__()
        self.stages = nn.Sequential(Stage(3, width, 2), Stage(width, width * 2, 4), Stage(width * 2, width * 4, 8))
        self.head = nn.Conv2d(width * 4, anchors * (classes + 5), 1)

    def forward(self, x):
        return self.head(self.stages(x))


def train(net, loader, criterion, epochs, lr=1e-2):
    net.cuda().train()
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, nesterov=True)
    scaler = amp.GradScaler(init_scale=2.0**14)
    for _ in range(epochs):
        for image, boxes in loader:
            opt.zero_grad()
            with amp.autocast(dtype=torch.float16):
                loss = criterion(net(image.cuda()), [b.cuda() for b in boxes])
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
