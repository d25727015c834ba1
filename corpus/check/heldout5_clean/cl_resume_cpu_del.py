import pathlib
import torch


def save(path, model, opt, epoch):
    tmp = path.with_suffix(".tmp")
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, tmp)
    tmp.replace(path)


def resume(path: pathlib.Path, model, opt) -> int:
    if not path.exists():
        return 0
    blob = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(blob["model"])
    opt.load_state_dict(blob["opt"])
    epoch = blob["epoch"] + 1
    del blob
    return epoch
