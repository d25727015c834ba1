import torch


def evaluate(net, batches):
    correct = 0
    with torch.no_grad(), torch.cpu.amp.autocast():
        for x, y in batches:
            correct += (net(x).argmax(1) == y).sum().item()
    return correct
