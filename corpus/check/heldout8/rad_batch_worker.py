import queue
import threading

import torch


class GpuWorker(threading.Thread):
    """Takes studies off a queue and copies them over on a side stream."""

    def __init__(self, net, jobs: queue.Queue, results: dict):
        super().__init__(daemon=True)
        self.net, self.jobs, self.results = net.cuda().eval(), jobs, results

    @torch.inference_mode()
    def run(self):
        while True:
            study_id, slices = self.jobs.get()
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                x = slices.pin_memory().cuda(non_blocking=True)
                y = self.net(x)
            side.synchronize()
            self.results[study_id] = y.argmax(1).cpu().numpy()
            self.jobs.task_done()
