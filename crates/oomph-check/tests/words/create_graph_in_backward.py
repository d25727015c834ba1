import torch
from torch import nn
def fit(points):
    net = nn.Linear(3, 1).cuda()
    opt = torch.optim.Adam(net.parameters())
    for x in points:
        opt.zero_grad()
        loss = net(x).mean()
        loss.backward(create_graph=True)  # <-
        opt.step()
def main(shapes):
    for points in shapes:
        fit(points)
