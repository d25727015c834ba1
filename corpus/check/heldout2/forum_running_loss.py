import torch
import torch.nn as nn

net = nn.Sequential(nn.Flatten(), nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10)).cuda()
optim = torch.optim.SGD(net.parameters(), lr=0.1)
crit = nn.CrossEntropyLoss()


def epoch(loader):
    running_loss = 0
    n = 0
    for x, y in loader:
        optim.zero_grad()
        batch_loss = crit(net(x.cuda()), y.cuda())
        batch_loss.backward()
        optim.step()
        running_loss += batch_loss * x.size(0)
        n += x.size(0)
    print("loss:", running_loss / n)
