import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader
from torchvision.transforms import Compose, Resize, ToTensor


def fit(net, dl, accum, epochs):
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    for ep in range(epochs):
        opt.zero_grad()
        for i, (x, y) in enumerate(dl):
            loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda()) / accum
            loss.backward()
            if (i + 1) % accum == 0 or i + 1 == len(dl):
                opt.step()
                opt.zero_grad()
        print(ep, loss.item() * accum)


if __name__ == "__main__":
    tf = Compose([Resize((224, 224)), ToTensor()])
    loader = DataLoader(torchvision.datasets.ImageFolder("pets", tf), 8, shuffle=True, num_workers=4)
    fit(torchvision.models.resnet34(num_classes=37).cuda(), loader, 8, 5)
