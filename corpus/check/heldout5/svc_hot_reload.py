import pathlib
import threading
import time

import torch

from serving.net import build_net


class ModelHolder:
    def __init__(self, path: pathlib.Path):
        self.path = path
        self.stamp = 0.0
        self.lock = threading.Lock()
        self.net = None
        self.refresh()

    def refresh(self):
        mtime = self.path.stat().st_mtime
        if mtime == self.stamp:
            return
        sd = torch.load(self.path)
        fresh = build_net().cuda().eval()
        fresh.load_state_dict(sd["weights"])
        with self.lock:
            old, self.net = self.net, fresh
        self.stamp = mtime
        if old is not None:
            del old
            torch.cuda.empty_cache()

    def watch(self, every=30):
        while True:
            time.sleep(every)
            self.refresh()

    @torch.inference_mode()
    def __call__(self, x):
        with self.lock:
            return self.net(x.cuda()).cpu()
