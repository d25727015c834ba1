from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss
from torch import nn
from torch.utils.data import DataLoader

log = logging.getLogger("unet3d")


@dataclass
class TrainState:
    epoch: int = 0
    best_dice: float = 0.0
    losses: list = field(default_factory=list)
    last_pred: torch.Tensor | None = None


class SegTrainer:
    def __init__(self, model: nn.Module, train: DataLoader, val: DataLoader, outdir: Path, device: str = "cuda"):
        self.model = model.to(device)
        self.train_loader, self.val_loader = train, val
        self.device = device
        self.outdir = outdir
        self.crit = DiceCELoss(to_onehot_y=True, softmax=True)
        self.opt = torch.optim.AdamW(model.parameters(), lr=2e-4)
        self.state = TrainState()

    def _step(self, batch: dict) -> torch.Tensor:
        x, y = batch["ct"].to(self.device), batch["seg"].to(self.device)
        return self.crit(self.model(x), y)

    def train_epoch(self) -> float:
        self.model.train()
        for batch in self.train_loader:
            loss = self._step(batch)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.state.losses.append(loss.item())
        return sum(self.state.losses[-len(self.train_loader):]) / len(self.train_loader)

    def validate(self) -> float:
        self.model.eval()
        vals = []
        for batch in self.val_loader:
            loss = self._step(batch)
            vals.append(loss.item())
        return sum(vals) / len(vals)

    def whole_volume(self, vol: torch.Tensor) -> torch.Tensor:
        # eval() switches the graph off
        self.model.eval()
        pred = sliding_window_inference(vol.to(self.device), (128, 128, 128), 4, self.model)
        return pred.argmax(1).cpu()

    def fit(self, epochs: int) -> None:
        for ep in range(epochs):
            tl, vl = self.train_epoch(), self.validate()
            log.info("epoch %d train %.4f val %.4f", ep, tl, vl)
            torch.save(self.model.state_dict(), self.outdir / f"ep{ep:03d}.pt")
