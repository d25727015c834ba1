import csv
from pathlib import Path

import torch
import torchaudio
from torch import nn
from torch.utils.data import DataLoader


class Tagger(nn.Module):
    def __init__(self, n=527):
        super().__init__()
        self.mel = torchaudio.transforms.MelSpectrogram(32000, n_mels=128)
        self.net = nn.Sequential(nn.Conv2d(1, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 256, 3, 2, 1), nn.ReLU(),
                                 nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, n))

    def forward(self, wav):
        return self.net(self.mel(wav).log1p()[:, None])


def make_evaluator(net, loader):
    def evaluate(writer):
        net.eval()
        batches = map(lambda b: (b[0], net(b[1].cuda())), loader)
        for names, z in batches:
            for n, row in zip(names, z.sigmoid().tolist()):
                writer.writerow([n, *row])
    return evaluate


class Clips(torch.utils.data.Dataset):
    def __init__(self, root):
        self.files = sorted(Path(root).glob("*.wav"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.files[i].name, torchaudio.load(self.files[i])[0][0, :320000]


if __name__ == "__main__":
    tagger = Tagger().cuda()
    tagger.load_state_dict(torch.load("tagger.pt", map_location="cpu"))
    run = make_evaluator(tagger, DataLoader(Clips("clips"), 32, num_workers=4))
    with open("tags.csv", "w", newline="") as f:
        run(csv.writer(f))
