import argparse
from timeit import default_timer

import torch
import torch.nn.functional as F

from fourier_2d import FNO2d
from readers import MatReader, UnitGaussianNormalizer
from losses import LpLoss

parser = argparse.ArgumentParser()
parser.add_argument("--modes", type=int, default=12)
parser.add_argument("--width", type=int, default=64)
parser.add_argument("--res", type=int, default=421)
opt = parser.parse_args()

x_train, y_train, x_test, y_test = MatReader("piececonst_r421.mat").split(1000, 200)
y_norm = UnitGaussianNormalizer(y_train)
train_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_train, y_train), 8, shuffle=True)
test_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_test, y_test), 8)

model = FNO2d(opt.modes, opt.modes, opt.width).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
myloss = LpLoss(size_average=False)
y_norm.cuda()

for ep in range(500):
    model.train()
    t1 = default_timer()
    train_l2 = 0.0
    for x, y in train_loader:
        x, y = x.cuda(), y.cuda()
        optimizer.zero_grad()
        loss = myloss(y_norm.decode(model(x)).flatten(1), y.flatten(1))
        loss.backward()
        optimizer.step()
        train_l2 += loss.item()

    model.eval()
    test_l2 = 0.0
    for x, y in test_loader:
        x, y = x.cuda(), y.cuda()
        out = y_norm.decode(model(x))
        test_l2 += myloss(out.flatten(1), y.flatten(1))
    print(ep, default_timer() - t1, train_l2 / 1000, (test_l2 / 200).item())
