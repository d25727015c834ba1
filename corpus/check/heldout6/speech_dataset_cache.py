import functools
import json

import torch
import torchaudio
from torch.utils.data import Dataset


class Manifest(Dataset):
    def __init__(self, path, n_mels=80):
        self.rows = [json.loads(l) for l in open(path)]
        self.mel = torchaudio.transforms.MelSpectrogram(16000, n_mels=n_mels)

    def __len__(self):
        return len(self.rows)

    @functools.lru_cache(maxsize=None)
    def spectrogram(self, index):
        wav, sr = torchaudio.load(self.rows[index]["audio"])
        if sr != 16000:
            wav = torchaudio.functional.resample(wav, sr, 16000)
        return self.mel(wav).clamp_min(1e-9).log().squeeze(0).T

    def __getitem__(self, i):
        return self.spectrogram(i), torch.tensor(self.rows[i]["tokens"])


def pad(batch):
    x, y = zip(*batch)
    lens = torch.tensor([len(a) for a in x]), torch.tensor([len(b) for b in y])
    return torch.nn.utils.rnn.pad_sequence(x, True), torch.nn.utils.rnn.pad_sequence(y, True), *lens
