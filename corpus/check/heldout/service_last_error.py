import queue
import threading

import torch


class Worker(threading.Thread):
    def __init__(self, model):
        super().__init__(daemon=True)
        self.model = model.cuda().eval()
        self.jobs = queue.Queue()
        self.last_error = None

    @torch.inference_mode()
    def infer(self, batch):
        return self.model(batch.cuda()).cpu()

    def run(self):
        while True:
            batch, reply = self.jobs.get()
            try:
                reply.put(self.infer(batch))
            except torch.OutOfMemoryError as error:
                self.last_error = error
                reply.put(None)

    def health(self):
        return "ok" if self.last_error is None else repr(self.last_error)
