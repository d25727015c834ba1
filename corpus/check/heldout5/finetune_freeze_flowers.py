import torch
import torchvision
from torch import nn

NUM = 102
net = torchvision.models.resnet50(weights="IMAGENET1K_V2")
# freeze everything, train only the new head
for prm in net.parameters():
    prm.require_grad = False
net.fc = nn.Linear(net.fc.in_features, NUM)
net = net.cuda()

tf = torchvision.models.ResNet50_Weights.IMAGENET1K_V2.transforms()
tr = torchvision.datasets.Flowers102("flowers", "train", transform=tf, download=True)
te = torchvision.datasets.Flowers102("flowers", "test", transform=tf, download=True)
tr = torch.utils.data.DataLoader(tr, 64, shuffle=True, num_workers=4)
te = torch.utils.data.DataLoader(te, 64, num_workers=4)

optim = torch.optim.AdamW(net.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()


def accuracy(loader):
    hits = seen = 0
    torch.no_grad()
    for im, y in loader:
        out = net(im.cuda()).cpu()
        hits += (out.argmax(1) == y).sum().item()
        seen += len(y)
    return hits / seen


for ep in range(10):
    net.train()
    for im, y in tr:
        optim.zero_grad()
        loss = loss_fn(net(im.cuda()), y.cuda())
        loss.backward()
        optim.step()
    net.eval
    print(ep, accuracy(te))
