from __future__ import print_function

import torch
import torch.nn.functional as F
from torch.autograd import Variable


def test(args, model, device, test_loader):
    model.eval()
    test_loss = 0
    correct = 0
    for data, target in test_loader:
        data, target = Variable(data.to(device)), Variable(target.to(device))
        output = model(data)
        test_loss += F.nll_loss(output, target, reduction="sum").item()
        pred = output.max(1, keepdim=True)[1]
        correct += pred.eq(target.view_as(pred)).sum().item()
    print("\nTest set: loss {:.4f}, acc {}/{}".format(
        test_loss / len(test_loader.dataset), correct, len(test_loader.dataset)))
