"""Transcribe an archive with Whisper; every file is its own length."""
import json
import sys
from pathlib import Path

import torch
import torchaudio
from transformers import AutoProcessor, WhisperForConditionalGeneration

NAME = "openai/whisper-large-v3"


def load():
    proc = AutoProcessor.from_pretrained(NAME)
    net = WhisperForConditionalGeneration.from_pretrained(NAME, torch_dtype=torch.float16)
    return proc, net.to("cuda").eval()


def transcribe(proc, net, path):
    wav, sr = torchaudio.load(path)
    wav = torchaudio.functional.resample(wav, sr, 16000).mean(0)
    feats = proc(wav.numpy(), sampling_rate=16000, return_tensors="pt").input_features.half().cuda()
    with torch.inference_mode():
        ids = net.generate(feats)
    return proc.batch_decode(ids, skip_special_tokens=True)[0]


def main(root):
    proc, net = load()
    failed = []
    for path in sorted(Path(root).rglob("*.wav")):
        try:
            text = transcribe(proc, net, path)
        except torch.OutOfMemoryError as exc:
            failed.append((path, exc))
            continue
        path.with_suffix(".json").write_text(json.dumps({"text": text}))
    for path, exc in failed:
        print("FAILED", path, exc, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
