import gc
import torch

from asr import load_aligner, load_recogniser


def transcribe(files):
    rec = load_recogniser().cuda().eval()
    with torch.inference_mode():
        texts = [rec.decode(f) for f in files]
    del rec
    gc.collect()
    torch.cuda.empty_cache()
    ali = load_aligner().cuda().eval()
    with torch.inference_mode():
        return [ali.align(f, t) for f, t in zip(files, texts)]
