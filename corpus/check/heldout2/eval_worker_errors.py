import queue
import threading

import torch


class Worker(threading.Thread):
    def __init__(self, model, jobs: queue.Queue):
        super().__init__(daemon=True)
        self.model, self.jobs = model, jobs
        self.failed = {}
        self.last_error = None

    def run(self):
        while True:
            key, x = self.jobs.get()
            try:
                with torch.no_grad():
                    y = self.model(x.cuda()).cpu()
                print(key, y.mean())
            except torch.OutOfMemoryError as oom:
                self.failed[key] = oom
                self.last_error = oom
            finally:
                self.jobs.task_done()
