"""Speaker embeddings for every window of a meeting, then clustering."""
import os

import numpy as np
import torch
import torch.nn as nn

from diar.ecapa import ECAPA
from diar.cluster import ahc
from diar.windows import sliding


class Extractor:
    _store = {}

    def __init__(self, ckpt, device="cuda"):
        self.net = ECAPA(192)
        blob = torch.load(ckpt, map_location=device)
        self.net.load_state_dict(blob["model"])
        self.net = self.net.to(device).eval()
        self.device = device

    def embed(self, meeting_id, wav):
        if meeting_id not in Extractor._store:
            vecs = []
            with torch.no_grad():
                for w in sliding(wav, 1.5, 0.25):
                    vecs.append(self.net(w.to(self.device)))
            Extractor._store[meeting_id] = torch.cat(vecs)
        return Extractor._store[meeting_id]


def affinity(x):
    d = (x.unsqueeze(1) - x.unsqueeze(0)).norm(dim=-1)
    return torch.exp(-d)


def main(folder):
    ex = Extractor("ecapa.ckpt")
    for name in sorted(os.listdir(folder)):
        wav = torch.from_numpy(np.load(os.path.join(folder, name))).float()
        emb = ex.embed(name, wav)
        print(name, ahc(affinity(emb).cpu().numpy()))


if __name__ == "__main__":
    main("meetings")
