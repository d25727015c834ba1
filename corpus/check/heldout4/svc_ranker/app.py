"""uvicorn svc_ranker.app:app --workers 8"""
import os

import torch
from fastapi import FastAPI, HTTPException

from .engine import Engine

app = FastAPI()
engine = Engine(os.environ["RANKER_CKPT"])
last_error = None


@app.post("/rank")
def rank(payload: dict):
    global last_error
    query = torch.tensor(payload["query"], dtype=torch.float32)
    docs = torch.tensor(payload["docs"], dtype=torch.float32)
    try:
        return {"scores": engine.score(query, docs)}
    except torch.cuda.OutOfMemoryError as exc:
        last_error = exc
        raise HTTPException(503, "try later")


@app.get("/healthz")
def healthz():
    return {"ok": last_error is None, "error": str(last_error or ""), "version": engine.version()}
