import torch


def predict(model, images, size=64):
    model.eval()
    while size >= 1:
        too_big = False
        try:
            with torch.inference_mode():
                return torch.cat([model(b.cuda()).cpu() for b in images.split(size)])
        except torch.OutOfMemoryError:
            too_big = True
        if too_big:
            torch.cuda.empty_cache()
            size //= 2
    raise RuntimeError("one image does not fit")
