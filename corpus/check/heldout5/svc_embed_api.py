import asyncio
import logging
from contextlib import asynccontextmanager

import torch
from fastapi import FastAPI
from pydantic import BaseModel
from transformers import AutoModel, AutoTokenizer

log = logging.getLogger("embed")
state = {}


@asynccontextmanager
async def lifespan(app):
    state["tok"] = AutoTokenizer.from_pretrained("intfloat/e5-large-v2")
    state["net"] = AutoModel.from_pretrained("intfloat/e5-large-v2", torch_dtype=torch.float16).to("cuda").eval()
    state["lock"] = asyncio.Lock()
    yield
    state.clear()


app = FastAPI(lifespan=lifespan)


class Req(BaseModel):
    texts: list[str]


def run_model(texts: list[str]) -> list[list[float]]:
    enc = state["tok"](texts, padding=True, truncation=True, return_tensors="pt").to("cuda")
    hidden = state["net"](**enc).last_hidden_state
    mask = enc["attention_mask"].unsqueeze(-1)
    emb = (hidden * mask).sum(1) / mask.sum(1)
    return torch.nn.functional.normalize(emb, dim=-1).cpu().tolist()


@app.post("/embed")
async def embed(req: Req):
    async with state["lock"]:
        vecs = await asyncio.to_thread(run_model, req.texts)
    log.info("%d texts", len(req.texts))
    return {"vectors": vecs}
