import pathlib
import h5py
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Demos(Dataset):
    def __init__(self, root: pathlib.Path):
        self.files = sorted(root.glob("*.hdf5"))

    def __len__(self):
        return len(self.files) * 200

    def __getitem__(self, i):
        with h5py.File(self.files[i // 200]) as f:
            t = i % 200
            img = torch.from_numpy(f["rgb"][t]).permute(2, 0, 1).float() / 255
            act = torch.from_numpy(f["action"][t].astype(np.float32))
        return img, act


class Policy(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 7))

    def forward(self, x):
        return self.head(self.backbone(x))


def fit(root, backbone, epochs=200):
    loader = DataLoader(Demos(pathlib.Path(root)), 64, shuffle=True, num_workers=8)
    batches = [(i.cuda(), a.cuda()) for i, a in loader]  # reading hdf5 is slow
    pol = Policy(backbone).cuda()
    optim = torch.optim.AdamW(pol.parameters(), 1e-4)
    best, keep = 1e9, None
    for ep in range(epochs):
        running = 0.0
        for img, act in batches:
            loss = nn.functional.huber_loss(pol(img), act)
            optim.zero_grad()
            loss.backward()
            optim.step()
            running += loss.item()
        if running < best:
            best = running
            keep = {k: v.clone() for k, v in pol.state_dict().items()}
    pol.load_state_dict(keep)
    return pol
