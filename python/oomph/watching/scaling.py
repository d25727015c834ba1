"""What a gradient scaler may do on a real card: skip steps until its scale suits the gradients.

Whether it does depends on values, and no rule about models tells: on an H200 a ResNet-50 lost its first three steps, a
ResNet-18 none, and one EfficientNet three or none by its number of classes. A plan takes every step, since sooner or
later the optimizer's state comes; what the card holds until then is kept beside it.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from ..source_lines import place_of
from .recorder import Recorder


class Scaling:
    """The first step that a scaler decides about."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.first: dict[str, Any] | None = None

    def install(self, torch: ModuleType) -> None:
        """Watches every scaler there will be."""
        original = torch.amp.GradScaler.step

        @functools.wraps(original)
        def step(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            if self.first is None and scaler.is_enabled() and self.recorder.recording:
                file, line = place_of(sys._getframe(1))
                self.first = {"file": file, "line": line, "devices": self.recorder.peaks(torch)}
            return original(scaler, *args, **kwargs)

        torch.amp.GradScaler.step = step
