import copy
import time

import torch


def train_model(model, dataloaders, criterion, optimizer, scheduler, num_epochs=25):
    since = time.time()
    best_acc = 0.0
    for epoch in range(num_epochs):
        for phase in ("train", "val"):
            model.train(phase == "train")
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in dataloaders[phase]:
                inputs, labels = inputs.cuda(), labels.cuda()
                optimizer.zero_grad()
                outputs = model(inputs)
                loss = criterion(outputs, labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += (outputs.argmax(1) == labels).sum().item()
            acc = running_corrects / len(dataloaders[phase].dataset)
            best_acc = max(best_acc, acc if phase == "val" else 0)
        scheduler.step()
    print("done in %.0fs, best %.3f" % (time.time() - since, best_acc))
