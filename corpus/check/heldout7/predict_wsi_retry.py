"""Predict whole slides tile by tile. On Kaggle's P100 the large slides do not fit, so halve the batch when that happens.
The second try fails as well though, even with a quarter of the batch?"""
import torch

from stain import normalise
from tiles import iter_batches


@torch.no_grad()
def forward(model, batch):
    x = normalise(batch.cuda(non_blocking=True))
    return model(x).sigmoid().half().cpu()


def predict_slide(model, slide, bs=64):
    out = []
    for batch in iter_batches(slide, bs):
        try:
            out.append(forward(model, batch))
        except RuntimeError as err:
            if "CUDA out of memory" not in str(err):
                raise
            torch.cuda.empty_cache()
            half = len(batch) // 2
            first = forward(model, batch[:half])
            second = forward(model, batch[half:])
            out.append(torch.cat([first, second]))
    return torch.cat(out)


def predict_all(model, slides):
    model.cuda().eval()
    for s in slides:
        probs = predict_slide(model, s)
        s.write_mask(probs.float().numpy() > 0.5)
