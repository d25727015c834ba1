import torch
from torch.cuda import empty_cache


@torch.inference_mode()
def detect(model, frames, size=4):
    model.eval()
    start = 0
    while start < len(frames):
        chunk = torch.stack(frames[start:start + size]).cuda()
        for boxes in model(chunk):
            yield {k: v.cpu() for k, v in boxes.items()}
        start += size
        empty_cache()


def count(model, frames, threshold=0.7):
    total = 0
    for found in detect(model, frames):
        total += int((found["scores"] > threshold).sum())
    return total
