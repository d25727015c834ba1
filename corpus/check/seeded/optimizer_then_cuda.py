import torch
from torchvision.models import densenet121


def main(ckpt):
    net = densenet121(num_classes=14)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    optimizer.load_state_dict(torch.load(ckpt, map_location="cpu")["opt"])
    net = net.cuda()
    return net, optimizer
