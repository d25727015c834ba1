"""Which layer of the backbone separates the classes? Collect features with hooks."""
from collections import defaultdict

import torch
from sklearn.linear_model import LogisticRegression

from backbone import SparseUNet
from lidar import frames

store = defaultdict(list)


def tap(name):
    def fn(_module, _inputs, output):
        store[name].append(output)
    return fn


def collect(net, loader, names):
    for n, m in net.named_modules():
        if n in names:
            m.register_forward_hook(tap(n))
    labels = []
    net.eval()
    for frame, lab in loader:
        net(frame.cuda())
        labels.append(lab)
    return torch.cat(labels)


if __name__ == "__main__":
    net = SparseUNet().cuda()
    for split in ("train", "val"):
        y = collect(net, frames(split), {"enc1", "enc2", "dec3"})
        for name, feats in store.items():
            X = torch.cat([f.mean(dim=(2, 3)) for f in feats]).detach().cpu().numpy()
            print(split, name, LogisticRegression(max_iter=200).fit(X, y.numpy()).score(X, y.numpy()))
