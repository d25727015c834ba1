import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return torch.from_numpy(np.load(self.paths[i]).astype(np.float32))


def collate(items):
    return torch.nn.utils.rnn.pad_sequence(items, batch_first=True)


def train(net, paths, opt):
    dl = DataLoader(Files(paths), 16, num_workers=4, pin_memory=True, collate_fn=collate)
    for x in dl:
        x = x.cuda(non_blocking=True)
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
