import torch
from torch import cat


def run(pipe, prompts, bs=4):
    result = None
    for i in range(0, len(prompts), bs):
        with torch.no_grad():
            lat = pipe.encode(prompts[i:i + bs])
        if result is None:
            result = lat
        else:
            result = cat((result, lat), 0)
    return result
