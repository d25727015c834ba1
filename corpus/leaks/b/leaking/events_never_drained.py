"""Asynchronous timing: each iteration's events are kept with what they time, and never drained."""

import os
from typing import NamedTuple

import torch
import torch.nn as nn


class Timed(NamedTuple):
    started: torch.cuda.Event
    ended: torch.cuda.Event
    result: torch.Tensor


def main(iterations: int) -> None:
    upscale = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.PixelShuffle(4)).cuda().half().eval()
    side = torch.cuda.Stream()
    timings: list[Timed] = []
    for iteration in range(iterations):
        frame = torch.rand(1, 3, 180, 320).half().cuda()
        started, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            started.record()
            result = upscale(frame)  # leak
            ended.record()
        torch.cuda.current_stream().wait_stream(side)
        timings.append(Timed(started, ended, result))  # leak
        print("frame", iteration, tuple(result.shape))


main(int(os.environ.get("STEPS", 30)))
