from __future__ import annotations

import threading

import torch
import torch.nn as nn

from .nets import Detector


class ModelStore:
    def __init__(self, root: str):
        self.root = root
        self._lock = threading.Lock()
        self._models: dict[str, nn.Module] = {}
        self._info: dict[str, dict] = {}

    def _read(self, name: str) -> nn.Module:
        self.ckpt = torch.load(f"{self.root}/{name}.pt", map_location="cuda")
        net = Detector(**self.ckpt["hparams"])
        net.load_state_dict(self.ckpt["ema"])
        self._info[name] = {"epoch": self.ckpt["epoch"], "map": self.ckpt["map"]}
        if torch.cuda.device_count() > 1:
            net = nn.DataParallel(net)
        return net.cuda().eval().requires_grad_(False)

    def get(self, name: str) -> nn.Module:
        with self._lock:
            if name not in self._models:
                self._models[name] = self._read(name)
            return self._models[name]

    def info(self) -> dict[str, dict]:
        return dict(self._info)
