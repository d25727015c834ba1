import torch


def test(net, loader, device="cuda"):
    net.eval()
    probs = torch.Tensor().to(device)
    truth = []
    with torch.no_grad():
        for crop, text in loader:
            p = net(crop.to(device)).softmax(2)
            probs = torch.concat((probs, p), 0)
            truth += list(text)
    return probs, truth
