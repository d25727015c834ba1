"""Queue worker that finds text regions on scanned pages."""
import time
import torch
import torch.nn.functional as F


class Worker:
    PAGES = {}

    def __init__(self, model, queue, device="cuda:0"):
        self.model = model.to(device).eval()
        self.queue, self.device = queue, device

    @torch.inference_mode()
    def detect(self, page):
        x = page.tensor.to(self.device)
        heat = self.model(x[None])
        Worker.PAGES[page.id] = heat
        return heat.sigmoid()

    def safe_detect(self, page):
        try:
            return self.detect(page)
        except RuntimeError as e:
            if "CUDA out of memory" not in str(e):
                raise
            page.tensor = F.interpolate(page.tensor[None], scale_factor=0.5)[0]
            return self.detect(page)

    def loop(self):
        while True:
            page = self.queue.get()
            if page is None:
                break
            t0 = time.perf_counter()
            boxes = (self.safe_detect(page) > 0.5).nonzero().cpu()
            page.done(boxes, time.perf_counter() - t0)
