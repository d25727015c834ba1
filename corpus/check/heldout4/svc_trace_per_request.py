"""Tile upscaler worker: takes a job from redis, writes the picture back."""
import io

import redis
import torch
from PIL import Image
from torchvision.transforms.functional import pil_to_tensor, to_pil_image

from sr_net import RRDB

queue = redis.Redis()


def load():
    net = RRDB(scale=4)
    net.load_state_dict(torch.load("/models/rrdb.pt", map_location="cpu", weights_only=True))
    return net.half().cuda().eval()


def upscale(net, img):
    x = pil_to_tensor(img).half().div(255).unsqueeze(0).cuda()
    with torch.no_grad():
        fast = torch.jit.trace(net, x)
        y = fast(x)
    return to_pil_image(y.squeeze(0).clamp(0, 1).float().cpu())


def worker():
    net = load()
    while True:
        _, job = queue.blpop("upscale")
        img = Image.open(io.BytesIO(queue.get(job))).convert("RGB")
        out = io.BytesIO()
        upscale(net, img).save(out, "PNG")
        queue.set(job + b":done", out.getvalue(), ex=3600)


if __name__ == "__main__":
    worker()
