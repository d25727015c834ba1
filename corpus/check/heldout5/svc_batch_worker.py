"""Pulls jobs from redis, runs them, survives OOM."""
import json
import time

import redis
import torch

from platform_models import load_pipeline


class Worker:
    def __init__(self, name: str):
        self.pipe = load_pipeline(name, device="cuda")
        self.failures = []
        self.db = redis.Redis()

    @torch.inference_mode()
    def handle(self, job: dict) -> list:
        return self.pipe(job["inputs"], batch_size=job.get("batch", 32))

    def loop(self) -> None:
        while True:
            raw = self.db.blpop("jobs", timeout=5)
            if raw is None:
                continue
            job = json.loads(raw[1])
            try:
                self.db.set(job["id"], json.dumps(self.handle(job)))
            except torch.cuda.OutOfMemoryError as exc:
                self.failures.append((job["id"], exc))
                torch.cuda.clear_cache()
                job["batch"] = max(1, job.get("batch", 32) // 2)
                self.db.rpush("jobs", json.dumps(job))
            time.sleep(0.01)


if __name__ == "__main__":
    Worker("ner-large").loop()
