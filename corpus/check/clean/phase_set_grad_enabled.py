import torch


def train_model(model, loaders, criterion, optimizer, epochs):
    for _ in range(epochs):
        for phase in ("train", "val"):
            model.train(phase == "train")
            running = 0.0
            for x, y in loaders[phase]:
                x, y = x.cuda(), y.cuda()
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    out = model(x)
                    loss = criterion(out, y)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running += loss.item() * x.size(0)
            print(phase, running / len(loaders[phase].dataset))
