"""Submission kernel. Must finish on P100 in 9 h."""
import glob

import librosa
import numpy as np
import pandas as pd
import timm
import torch

SR, WIN = 32000, 5
paths = sorted(glob.glob("/kaggle/input/birds/test_soundscapes/*.ogg"))
models = []
for ck in sorted(glob.glob("/kaggle/input/birdweights/*.pth")):
    m = timm.create_model("resnet34", num_classes=264, in_chans=1)
    m.load_state_dict(torch.load(ck))
    m.to("cuda").eval()
    models.append(m)


def to_mel(wav):
    spec = librosa.feature.melspectrogram(y=wav, sr=SR, n_mels=128, hop_length=320)
    return librosa.power_to_db(spec).astype(np.float32)


rows, scores = [], []
for p in paths:
    wav, _ = librosa.load(p, sr=SR)
    clips = [wav[k:k + SR * WIN] for k in range(0, len(wav) - SR * WIN + 1, SR * WIN)]
    batch = torch.from_numpy(np.stack([to_mel(c) for c in clips]))[:, None].to("cuda")
    blend = 0
    for m in models:
        blend = blend + torch.sigmoid(m(batch))
    scores.append((blend / len(models)).detach().cpu())
    rows += [f"{p[-10:-4]}_{(k + 1) * WIN}" for k in range(len(clips))]

table = torch.cat(scores).numpy()
sub = pd.DataFrame(table, columns=[f"b{i}" for i in range(264)])
sub.insert(0, "row_id", rows)
sub.to_csv("submission.csv", index=False)
