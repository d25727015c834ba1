import torch


def resume(path, model, opt):
    blob = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(blob["model"])
    opt.load_state_dict(blob["opt"])
    epoch = blob["epoch"]
    del blob
    return epoch + 1


def best_copy(model):
    return {k: v.detach().to("cpu", copy=True) for k, v in model.state_dict().items()}
