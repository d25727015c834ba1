"""Write one .npy of layer features per utterance for the phonetics group."""
import argparse
import pathlib

import numpy as np
import torch
import torchaudio
from transformers import Wav2Vec2Model


def features(model, wav, layer):
    out = model(wav, output_hidden_states=True)
    return out.hidden_states[layer].squeeze(0)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("wavs", type=pathlib.Path)
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--layer", type=int, default=9)
    args = ap.parse_args()
    model = Wav2Vec2Model.from_pretrained("facebook/wav2vec2-base").cuda()
    model.eval()
    for path in sorted(args.wavs.rglob("*.flac")):
        wav, sr = torchaudio.load(path)
        wav = torchaudio.functional.resample(wav, sr, 16000).cuda()
        f = features(model, wav, args.layer)
        np.save(args.out / f"{path.stem}.npy", f.detach().cpu().numpy())


if __name__ == "__main__":
    main()
