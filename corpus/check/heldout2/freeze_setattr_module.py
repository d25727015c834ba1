import torch
from torchvision.models import resnet50


def head_only(num_classes):
    net = resnet50(weights="IMAGENET1K_V2")
    for p in net.parameters():
        p.requires_grad == False
    net.fc = torch.nn.Linear(2048, num_classes)
    return net


def main():
    net = head_only(10).cuda()
    opt = torch.optim.SGD(net.fc.parameters(), lr=0.1)
    x, y = torch.randn(8, 3, 224, 224).cuda(), torch.zeros(8, dtype=torch.long).cuda()
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()


main()
