import logging

import torch
import torch.nn.functional as F

from .config import Settings
from .model import ChestNet

log = logging.getLogger("triage")
LABELS = ["effusion", "pneumothorax", "nodule", "cardiomegaly"]


class ChestEngine:
    def __init__(self, s: Settings):
        self.s = s
        self.net = ChestNet(len(LABELS))
        blob = torch.load(s.weights)
        self.net.load_state_dict(blob["ema"])
        self.net.to(s.device).eval()
        self.failures = []

    def _forward(self, image):
        image = F.interpolate(image.to(self.s.device), size=(self.s.size, self.s.size))
        traced = torch.jit.trace(self.net, image)
        return traced(image).sigmoid()

    def predict(self, image):
        try:
            probs = self._forward(image)
        except torch.OutOfMemoryError as exc:
            log.error("out of memory on %s", tuple(image.shape))
            self.failures.append(exc)
            return []
        return [l for l, p in zip(LABELS, probs[0].tolist()) if p > self.s.threshold]

    def health(self):
        return {
            "failures": len(self.failures),
            "reserved": torch.cuda.memory_cached(self.s.device),
        }
