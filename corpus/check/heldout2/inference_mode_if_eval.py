import torch


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    if not training:
        torch.inference_mode()
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        if training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total / len(loader)
