# --- bad
import torch

@torch.no_grad()
def prepare(img, mean, std):
    img = img.cuda()
    img = (img - mean) / std
    return img
# --- good
import torch

@torch.no_grad()
def prepare(img, mean, std):
    img = img.cuda()
    img = img.sub_(mean).div_(std)
    return img
# --- silent
import torch

def prepare(img, mean, std):
    img = img.cuda()
    img = (img - mean) / std
    return img
