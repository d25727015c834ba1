import argparse
import pathlib

import soundfile as sf
import torch

from tts import FastSpeech, HifiGan, text_to_ids


def load(cls, path):
    net = cls()
    net.load_state_dict(torch.load(path)["model"])
    net.cuda().eval()
    return net


def speak(acoustic, vocoder, line, speed):
    ids = torch.tensor(text_to_ids(line)).unsqueeze(0).cuda()
    mel = acoustic(ids, duration_scale=1 / speed)
    return vocoder(mel).squeeze()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("book", type=pathlib.Path)
    ap.add_argument("--speed", type=float, default=1.0)
    args = ap.parse_args()
    acoustic = load(FastSpeech, "fs2.pt")
    vocoder = load(HifiGan, "hifi.pt")
    parts = []
    for line in args.book.read_text().splitlines():
        if line.strip():
            parts.append(speak(acoustic, vocoder, line, args.speed))
    sf.write("book.wav", torch.cat(parts).detach().cpu().numpy(), 22050)


if __name__ == "__main__":
    main()
