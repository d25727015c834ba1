import torch
def f(model, x):
    out = model(x.cuda())
    keep = out
    del out  # <-
    torch.cuda.empty_cache()
    return keep.mean()
# ---
import torch
def f(model, loader):
    outs = []
    with torch.no_grad():
        for x in loader:
            o = model(x.cuda())
            outs.append(o)
            del o  # <-
            torch.cuda.empty_cache()
    return torch.cat(outs)
