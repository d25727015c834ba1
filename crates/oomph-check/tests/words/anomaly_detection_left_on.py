import torch


def fit(net, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    torch.autograd.set_detect_anomaly(True)  # <-
    net = torch.nn.Linear(8, 8)
    fit(net, [torch.ones(1, 8)], torch.optim.SGD(net.parameters(), 0.1))
