"""Tagging service: POST /tag with a list of sentences."""
import os
from contextlib import asynccontextmanager

import torch
from fastapi import FastAPI
from pydantic import BaseModel
from transformers import AutoModelForTokenClassification, AutoTokenizer

MODEL = os.environ.get("NER_MODEL", "dslim/bert-base-NER")
state = {}


@asynccontextmanager
async def lifespan(app: FastAPI):
    state["tok"] = AutoTokenizer.from_pretrained(MODEL)
    state["net"] = AutoModelForTokenClassification.from_pretrained(MODEL).to("cuda").eval()
    yield
    state.clear()


app = FastAPI(lifespan=lifespan)


class Request(BaseModel):
    sentences: list[str]
    batch_size: int = 32


def tag(sentences: list[str], batch_size: int) -> list[list[str]]:
    tok, net = state["tok"], state["net"]
    names = net.config.id2label
    result = []
    for i in range(0, len(sentences), batch_size):
        enc = tok(sentences[i:i + batch_size], padding=True, truncation=True, return_tensors="pt").to("cuda")
        logits = net(**enc).logits
        ids = logits.argmax(-1).tolist()
        for row, mask in zip(ids, enc["attention_mask"].tolist()):
            result.append([names[k] for k, m in zip(row, mask) if m])
    return result


@app.post("/tag")
def handle(req: Request):
    return {"tags": tag(req.sentences, req.batch_size)}
