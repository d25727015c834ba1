"""Hot swap of models on one GPU."""
import gc
from pathlib import Path

import torch
from torch import nn


class Registry:
    def __init__(self, root: Path, device: str = "cuda:0"):
        self.root = root
        self.device = device
        self.live: nn.Module | None = None
        self.raw: dict | None = None

    def _net(self, width: int) -> nn.Module:
        return nn.Sequential(nn.Linear(1024, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1024))

    def activate(self, version: str) -> None:
        if self.live is not None:
            torch.cuda.empty_cache()
            gc.collect()
            del self.live
        self.raw = torch.load(self.root / f"{version}.pt", map_location=self.device)
        self.live = self._net(self.raw["width"]).to(self.device)
        self.live.load_state_dict(self.raw["weights"])
        self.live.eval()

    @torch.inference_mode()
    def answer(self, x: torch.Tensor) -> torch.Tensor:
        return self.live(x.to(self.device)).cpu()


if __name__ == "__main__":
    reg = Registry(Path("models"))
    for v in ("2024-11", "2024-12", "2025-01"):
        reg.activate(v)
        print(v, reg.answer(torch.randn(32, 1024)).mean())
