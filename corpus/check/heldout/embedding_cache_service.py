import hashlib

import torch
from fastapi import FastAPI
from sentence import load_encoder

app = FastAPI()
encoder = load_encoder().eval()
CACHE: dict[str, torch.Tensor] = {}


@torch.inference_mode()
def embed(text):
    return encoder([text], device="cuda")[0]


@app.post("/similar")
def similar(a: str, b: str):
    vectors = []
    for text in (a, b):
        key = hashlib.sha1(text.encode()).hexdigest()
        if key not in CACHE:
            CACHE[key] = embed(text)
        vectors.append(CACHE[key])
    return {"score": torch.cosine_similarity(*vectors, dim=0).item()}
