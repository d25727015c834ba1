from pathlib import Path

import torch


class ImagenLike(torch.nn.Module):
    def __init__(self, unets):
        super().__init__()
        self.unets = torch.nn.ModuleList(unets)

    def load(self, path, strict=True):
        path = Path(path)
        assert path.exists(), path
        loaded = torch.load(str(path), weights_only=True)
        self.load_state_dict(loaded["model"], strict=strict)
        print("from step", loaded["step"])


def sample(unets, path, noise):
    model = ImagenLike(unets)
    model.load(path)
    model.cuda().eval()
    with torch.no_grad():
        for unet in model.unets:
            noise = unet(noise)
    return noise
