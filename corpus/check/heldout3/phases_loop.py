"""Transfer learning for the plant-disease set, adapted from the usual two-phase loop."""
import time

import torch
import torch.nn as nn
from torch.optim import lr_scheduler
from torchvision import datasets, models, transforms

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

tfms = {
    "train": transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()]),
    "val": transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor()]),
}
sets = {p: datasets.ImageFolder(f"plants/{p}", tfms[p]) for p in ("train", "val")}
loaders = {p: torch.utils.data.DataLoader(sets[p], 32, shuffle=p == "train", num_workers=4) for p in sets}


def fit(model, criterion, optimizer, scheduler, num_epochs=25):
    since = time.time()
    best_acc = 0.0
    for epoch in range(num_epochs):
        for phase in ("train", "val"):
            if phase == "train":
                model.train()
            else:
                model.eval()
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in loaders[phase]:
                inputs, labels = inputs.to(device), labels.to(device)
                outputs = model(inputs)
                loss = criterion(outputs, labels)
                if phase == "train":
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += (outputs.argmax(1) == labels).sum().item()
            if phase == "train":
                scheduler.step()
            acc = running_corrects / len(sets[phase])
            print(f"{epoch} {phase} loss {running_loss / len(sets[phase]):.4f} acc {acc:.4f}")
            if phase == "val" and acc > best_acc:
                best_acc = acc
                torch.save(model.state_dict(), "best.pt")
    print("took", time.time() - since)


if __name__ == "__main__":
    net = models.efficientnet_b3(weights="DEFAULT")
    net.classifier[1] = nn.Linear(net.classifier[1].in_features, len(sets["train"].classes))
    net = net.to(device)
    sgd = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    fit(net, nn.CrossEntropyLoss(), sgd, lr_scheduler.StepLR(sgd, 7, 0.1))
