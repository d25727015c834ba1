import numpy as np
import torch
from torch import nn

data = np.genfromtxt("titanic_clean.csv", delimiter=",", skip_header=1)
features = torch.from_numpy(data[:, 1:]).float()
targets = torch.from_numpy(data[:, 0]).float()

net = nn.Sequential(nn.Linear(features.shape[1], 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
net = net.cuda()

sgd = torch.optim.SGD(net.parameters(), lr=0.05)
criterion = nn.BCEWithLogitsLoss()

curve = []
for it in range(20000):
    idx = torch.randint(0, len(features), (256,))
    guess = net(features[idx].cuda()).squeeze(1)
    loss = criterion(guess, targets[idx].cuda())
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    curve.append(loss)
    if it % 1000 == 0:
        print(it, loss.item())

import matplotlib.pyplot as plt

plt.plot([c.item() for c in curve])
plt.savefig("report.png")
