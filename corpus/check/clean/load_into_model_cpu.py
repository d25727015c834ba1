import torch


def restore(model, path, device):
    model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return model.to(device)


def resume(model, opt, path):
    ckpt = torch.load(path, map_location=lambda storage, loc: storage, mmap=True)
    model.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["opt"])
    epoch = ckpt["epoch"]
    del ckpt
    return epoch
