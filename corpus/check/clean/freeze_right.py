import torch
import torchvision


def build(classes):
    net = torchvision.models.resnet50(weights="DEFAULT")
    for p in net.parameters():
        p.requires_grad = False
    net.layer4.requires_grad_(True)
    net.fc = torch.nn.Linear(2048, classes)
    assert net.conv1.weight.requires_grad == False
    trainable = [p for p in net.parameters() if p.requires_grad]
    net = net.cuda()
    return net, torch.optim.SGD(trainable, lr=0.01)
