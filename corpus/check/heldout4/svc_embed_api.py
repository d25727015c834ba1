"""Embedding endpoint behind the search team's gateway."""
import asyncio
import logging
from contextlib import asynccontextmanager

import torch
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_model import Encoder, tokenize

log = logging.getLogger("embed")
STATE = {}


class Req(BaseModel):
    texts: list[str]


@asynccontextmanager
async def lifespan(app):
    net = Encoder.from_checkpoint("/models/encoder.pt")
    STATE["net"] = net.to("cuda").eval()
    STATE["lock"] = asyncio.Lock()
    yield
    STATE.clear()


app = FastAPI(lifespan=lifespan)


def run(texts):
    net = STATE["net"]
    batch = {k: v.to("cuda") for k, v in tokenize(texts).items()}
    try:
        vec = net(**batch)
        return vec.detach().cpu().tolist()
    except torch.OutOfMemoryError:
        log.warning("oom on %d texts, splitting", len(texts))
        half = len(texts) // 2
        return run(texts[:half]) + run(texts[half:])


@app.post("/embed")
async def embed(req: Req):
    async with STATE["lock"]:
        return {"vectors": await asyncio.to_thread(run, req.texts)}
