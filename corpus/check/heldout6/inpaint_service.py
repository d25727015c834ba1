"""HTTP endpoint for inpainting; one process per card."""
import logging
import os

import torch
from fastapi import FastAPI
from pydantic import BaseModel

from painter import load_net, decode, encode

log = logging.getLogger("inpaint")
app = FastAPI()
net = load_net("weights/painter.pt").cuda().eval()
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
failed = []


class Job(BaseModel):
    image: str
    mask: str
    steps: int = 20


@app.post("/paint")
def paint(job: Job):
    x, m = decode(job.image).cuda(), decode(job.mask).cuda()
    try:
        for _ in range(job.steps):
            x = net(x, m)
    except torch.cuda.OutOfMemoryError as err:
        log.warning("no memory for %s", tuple(x.shape))
        failed.append(err)
        return {"ok": False}
    return {"ok": True, "image": encode(x.detach().cpu())}
