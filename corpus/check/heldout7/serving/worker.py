import queue
import threading
import time

import torch

from .model_store import ModelStore
from .preprocess import decode, to_batch


class Worker(threading.Thread):
    def __init__(self, store: ModelStore, jobs: queue.Queue, max_batch: int = 16):
        super().__init__(daemon=True)
        self.store, self.jobs, self.max_batch = store, jobs, max_batch
        self.failures = []

    def collect(self):
        batch = [self.jobs.get()]
        t0 = time.monotonic()
        while len(batch) < self.max_batch and time.monotonic() - t0 < 0.01:
            try:
                batch.append(self.jobs.get_nowait())
            except queue.Empty:
                time.sleep(0.001)
        return batch

    @torch.inference_mode()
    def infer(self, batch):
        net = self.store.get(batch[0].model)
        return net(to_batch([decode(j.raw) for j in batch])).cpu()

    def run(self):
        while True:
            batch = self.collect()
            try:
                for job, out in zip(batch, self.infer(batch)):
                    job.done(out.numpy())
            except torch.OutOfMemoryError as exc:
                # shown on /debug/failures
                self.failures.append((time.time(), len(batch), exc))
                for job in batch:
                    job.fail(503)
