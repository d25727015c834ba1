import torch
import torchvision
from torch.utils.data import DataLoader

from minitrain import Trainer
from minitrain.callbacks import LossRecorder, PredictionKeeper


def main():
    tf = torchvision.transforms.ToTensor()
    tr = torchvision.datasets.SVHN("svhn", "train", transform=tf, download=True)
    te = torchvision.datasets.SVHN("svhn", "test", transform=tf, download=True)
    net = torchvision.models.resnet18(num_classes=10)
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    t = Trainer(net, opt, torch.nn.CrossEntropyLoss(), [LossRecorder(), PredictionKeeper()])
    t.fit(DataLoader(tr, 256, shuffle=True), DataLoader(te, 512), 20)
    t.save("svhn.pt")


if __name__ == "__main__":
    main()
