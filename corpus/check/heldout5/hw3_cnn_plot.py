# Homework 3: small CNN on CIFAR-10, plot the learning curve for the report
import torch
import torch.nn as nn
import torchvision
import torchvision.transforms as T
import matplotlib.pyplot as plt

dev = "cuda" if torch.cuda.is_available() else "cpu"


class MyCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 64, 3, padding=1)
        self.c2 = nn.Conv2d(64, 128, 3, padding=1)
        self.head = nn.Linear(128 * 8 * 8, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.c1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.c2(x)), 2)
        return self.head(x.flatten(1))


train_set = torchvision.datasets.CIFAR10("data", train=True, download=True, transform=T.ToTensor())
test_set = torchvision.datasets.CIFAR10("data", train=False, transform=T.ToTensor())
train_dl = torch.utils.data.DataLoader(train_set, batch_size=256, shuffle=True)
test_dl = torch.utils.data.DataLoader(test_set, batch_size=512)

net = MyCNN().to(dev)
sgd = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
ce = nn.CrossEntropyLoss()
curve = []
test_curve = []

for ep in range(30):
    net.train()
    for img, lab in train_dl:
        img, lab = img.to(dev), lab.to(dev)
        sgd.zero_grad()
        L = ce(net(img), lab)
        L.backward()
        sgd.step()
        curve.append(L.item())

    net.eval()
    running = 0
    for img, lab in test_dl:
        img, lab = img.to(dev), lab.to(dev)
        batch_loss = ce(net(img), lab)
        running += batch_loss * len(lab)
    test_curve.append(float(running) / len(test_set))
    print(ep, test_curve[-1])

plt.plot(curve)
plt.savefig("curve.png")
