import nibabel as nib
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class BrainPairs(Dataset):
    """Moving/fixed volumes, resampled on the GPU because the CPU is slow."""

    def __init__(self, pairs, shape=(160, 192, 224)):
        self.pairs = pairs
        self.shape = shape

    def __len__(self):
        return len(self.pairs)

    def _read(self, path):
        vol = torch.from_numpy(nib.load(path).get_fdata()).float()[None, None]
        vol = vol.cuda()
        return torch.nn.functional.interpolate(vol, self.shape, mode="trilinear")[0]

    def __getitem__(self, i):
        m, f = self.pairs[i]
        return self._read(m), self._read(f)


def ncc(a, b):
    a = a - a.mean((1, 2, 3, 4), keepdim=True)
    b = b - b.mean((1, 2, 3, 4), keepdim=True)
    return -(a * b).sum() / (a.norm() * b.norm())


def main(pairs, net):
    loader = DataLoader(BrainPairs(pairs), batch_size=1, shuffle=True, num_workers=4,
                        multiprocessing_context="spawn")
    opt = torch.optim.Adam(net.parameters(), 1e-4)
    identity = torch.nn.functional.affine_grid(torch.eye(3, 4)[None], (1, 1, 160, 192, 224), align_corners=False)
    identity = identity.cuda()
    for epoch in range(100):
        for moving, fixed in loader:
            flow = net(torch.cat([moving, fixed], 1)).permute(0, 2, 3, 4, 1)
            warped = torch.nn.functional.grid_sample(moving, identity + flow, align_corners=False)
            loss = ncc(warped, fixed) + 0.1 * (flow[:, 1:] - flow[:, :-1]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            del moving, fixed, flow, warped
            torch.cuda.empty_cache()
        print(epoch, loss.item(), np.round(torch.cuda.memory_allocated() / 1e9, 2))
