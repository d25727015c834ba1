import torch
import torch.nn.functional as F


def calibrate(student, batches):
    keep = {}
    i = 0
    while (b := next(batches, None)) is not None:
        q = student(b["pixel_values"].cuda())
        score = q.softmax(-1)
        best = score
        keep[i] = best
        i += 1
    return torch.stack([keep[k].max(-1).values.mean() for k in sorted(keep)]).mean().item()
