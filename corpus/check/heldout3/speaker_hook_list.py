"""Collects the pooled activations of a speaker net over the VoxCeleb test list."""
from pathlib import Path

import torch
import torchaudio
from tqdm import tqdm

from ecapa import EcapaTdnn


class Recorder:
    def __init__(self, layer):
        self.outputs = []
        self.handle = layer.register_forward_hook(self._save)

    def _save(self, module, inputs, output):
        self.outputs.append(output)

    def close(self):
        self.handle.remove()


def spectrogram(path, n_mels=80):
    wav, sr = torchaudio.load(str(path))
    if sr != 16000:
        wav = torchaudio.functional.resample(wav, sr, 16000)
    feats = torchaudio.compliance.kaldi.fbank(wav, num_mel_bins=n_mels)
    return feats - feats.mean(0, keepdim=True)


def collect(root, ckpt):
    net = EcapaTdnn(80, 1024)
    net.load_state_dict(torch.load(ckpt, map_location="cpu"))
    net = net.cuda().eval()
    rec = Recorder(net.pooling)
    scores = []
    for path in tqdm(sorted(Path(root).rglob("*.wav"))):
        emb = net(spectrogram(path)[None].cuda())
        scores.append(emb.norm().item())
    rec.close()
    return torch.cat([o.detach().cpu() for o in rec.outputs]), scores


if __name__ == "__main__":
    feats, norms = collect("/corpora/vox1_test", "ecapa.pt")
    torch.save({"feats": feats, "norms": norms}, "pooled.pt")
