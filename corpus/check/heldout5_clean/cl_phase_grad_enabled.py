import torch
import torch.nn as nn


def run(model, loaders, optimizer, epochs, device):
    crit = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        for phase in ("train", "val"):
            training = phase == "train"
            model.train(training)
            running, count = 0.0, 0
            with torch.set_grad_enabled(training):
                for x, y in loaders[phase]:
                    x, y = x.to(device), y.to(device)
                    if training:
                        optimizer.zero_grad()
                    loss = crit(model(x), y)
                    if training:
                        loss.backward()
                        optimizer.step()
                    running += loss.item() * len(y)
                    count += len(y)
            print(epoch, phase, running / count)
