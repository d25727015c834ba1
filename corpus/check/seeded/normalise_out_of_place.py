import torch


@torch.no_grad()
def preprocess(vol, mean, std):
    vol = vol.cuda().float()
    vol = (vol - mean) / std
    vol = vol * 2 + 1
    return vol
