import torch
from torch import nn
from torch.utils.data import DataLoader

from repo_seg.dataset import City
from repo_seg.utils import poly_lr


def main(model, root, epochs=80, base=0.01):
    model = nn.DataParallel(model).cuda()
    loader = DataLoader(City(root), batch_size=16, shuffle=True, num_workers=8, drop_last=True)
    opt = torch.optim.SGD(model.parameters(), lr=base, momentum=0.9, weight_decay=5e-4)
    total = epochs * len(loader)
    it = 0
    for _ in range(epochs):
        for image, mask in loader:
            poly_lr(opt, base, it, total)
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(image.cuda()), mask.cuda(), ignore_index=255)
            loss.backward()
            opt.step()
            it += 1
