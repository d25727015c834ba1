import sys
import torch
from torchvision import models


def main(path, batches):
    torch.set_grad_enabled(False)
    net = models.resnet50()
    net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    net.cuda().eval()
    counts = torch.zeros(1000, dtype=torch.long)
    for x in batches:
        counts += torch.bincount(net(x.cuda()).argmax(1).cpu(), minlength=1000)
    return counts.topk(10)


if __name__ == "__main__":
    print(main(sys.argv[1], torch.rand(64, 3, 224, 224).split(8)))
