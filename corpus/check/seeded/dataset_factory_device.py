import random

import torch
import torch.utils.data as data


class Synthetic(data.Dataset):
    def __init__(self, n, classes):
        self.n, self.classes = n, classes

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        g = torch.Generator(device="cuda").manual_seed(index)
        noise = torch.randn(3, 224, 224, device="cuda", generator=g)
        return noise, random.randrange(self.classes)


train = data.DataLoader(Synthetic(10 ** 6, 1000), batch_size=256, num_workers=12)
