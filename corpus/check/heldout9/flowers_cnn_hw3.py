"""Homework 3: classify flowers with a small CNN."""
import torch
import torch.nn as nn
import torch.optim as optim
from torchvision import datasets, transforms

EPOCHS = 15
BATCH = 64
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

tf = transforms.Compose([transforms.Resize((224, 224)), transforms.ToTensor()])
train_set = datasets.ImageFolder("flowers/train", tf)
test_set = datasets.ImageFolder("flowers/test", tf)
train_dl = torch.utils.data.DataLoader(train_set, batch_size=BATCH, shuffle=True)
test_dl = torch.utils.data.DataLoader(test_set, batch_size=BATCH)


class FlowerNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
        )
        self.fc = nn.Linear(128 * 16, n_classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def how_good(net, dl, loss_fn):
    right, seen, penalty = 0, 0, 0
    net.train(False)
    for images, labels in dl:
        scores = net(images.to(device))
        labels = labels.to(device)
        penalty = penalty + loss_fn(scores, labels)
        right += int((scores.argmax(dim=1) == labels).sum())
        seen += len(labels)
    return right / seen, penalty / len(dl)


net = FlowerNet(len(train_set.classes)).to(device)
loss_fn = nn.CrossEntropyLoss()
opt = optim.Adam(net.parameters(), lr=1e-3)
for ep in range(EPOCHS):
    net.train()
    for images, labels in train_dl:
        opt.zero_grad()
        loss = loss_fn(net(images.to(device)), labels.to(device))
        loss.backward()
        opt.step()
    acc, pen = how_good(net, test_dl, loss_fn)
    print(f"epoch {ep}: acc {acc:.3f}, test loss {float(pen):.4f}")
