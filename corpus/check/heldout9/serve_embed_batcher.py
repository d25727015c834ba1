"""Embedding worker: pulls texts from Redis, pushes vectors."""
from __future__ import annotations

import json
import time

import redis
import torch
from sentence_transformers import SentenceTransformer


class Worker:
    def __init__(self, name: str, bs: int = 256):
        self.r = redis.Redis()
        self.model = SentenceTransformer(name, device="cuda")
        self.bs = bs
        self.last_error: BaseException | None = None

    def embed(self, texts: list[str]) -> torch.Tensor:
        while True:
            try:
                return self.model.encode(texts, batch_size=self.bs, convert_to_tensor=True)
            except torch.cuda.OutOfMemoryError as exc:
                self.last_error = exc
                self.bs //= 2
                torch.cuda.empty_cache()

    def loop(self) -> None:
        while True:
            raw = self.r.lpop("texts", 512)
            if not raw:
                time.sleep(0.05)
                continue
            jobs = [json.loads(x) for x in raw]
            vecs = self.embed([j["text"] for j in jobs]).cpu()
            pipe = self.r.pipeline()
            for j, v in zip(jobs, vecs):
                pipe.set(j["id"], v.numpy().tobytes())
            pipe.execute()


if __name__ == "__main__":
    Worker("BAAI/bge-large-en-v1.5").loop()
