import torch
from torch.utils.data import DataLoader, Dataset
from decord import VideoReader


class Clips(Dataset):
    def __init__(self, paths, device="cuda"):
        self.paths = paths
        self.device = torch.device(device)
        self.mean = torch.tensor([0.45, 0.45, 0.45]).view(3, 1, 1, 1)

    def __len__(self):
        return len(self.paths)

    def _decode(self, path):
        frames = VideoReader(path).get_batch(range(0, 64, 4)).asnumpy()
        return torch.from_numpy(frames).permute(3, 0, 1, 2).to(self.device)

    def __getitem__(self, i):
        clip = self._decode(self.paths[i]).float() / 255
        return clip - self.mean.to(clip.device)


def loader(paths):
    return DataLoader(Clips(paths), batch_size=8, num_workers=8, shuffle=True)
