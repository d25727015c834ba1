"""Streaming voice activity detector: one GRU, state lives between packets."""
from __future__ import annotations

import torch
from torch import Tensor, nn


class StreamingVAD(nn.Module):
    def __init__(self, n_mels: int = 40, hidden: int = 128) -> None:
        super().__init__()
        self.gru = nn.GRU(n_mels, hidden, batch_first=True)
        self.cls = nn.Linear(hidden, 1)

    def forward(self, mel: Tensor, h: Tensor | None) -> tuple[Tensor, Tensor]:
        y, h = self.gru(mel, h)
        return self.cls(y).squeeze(-1), h


class Session:
    """One per caller. Lives for the whole phone call (hours on the hotline)."""

    def __init__(self, model: StreamingVAD, device: str = "cuda") -> None:
        self.model = model.eval().to(device)
        self.device = device
        self.h: Tensor | None = None
        self.speech_ms = 0

    def run(self, packets) -> int:
        for mel in packets:
            score, self.h = self.model(mel.to(self.device), self.h)
            if score.sigmoid().mean().item() > 0.5:
                self.speech_ms += 20 * mel.size(1)
        return self.speech_ms


def serve(queue, weights: str) -> None:
    model = StreamingVAD()
    model.load_state_dict(torch.load(weights, map_location="cpu"))
    while True:
        call = queue.get()
        print(call.id, Session(model).run(call.packets()))
