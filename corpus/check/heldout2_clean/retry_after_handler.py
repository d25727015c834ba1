import torch


def predict(model, x):
    """Leaves the handler before it tries again."""
    failed = False
    try:
        with torch.no_grad():
            return model(x.cuda()).cpu()
    except torch.OutOfMemoryError:
        if len(x) == 1:
            raise
        failed = True
    if failed:
        torch.cuda.empty_cache()
        return torch.cat([predict(model, part) for part in x.chunk(2)])
