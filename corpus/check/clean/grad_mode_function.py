import torch


def predict(net, loader):
    net.eval()
    torch.set_grad_enabled(False)
    labels = [net(x.cuda()).argmax(1).cpu() for x in loader]
    torch.set_grad_enabled(True)
    return torch.cat(labels)
