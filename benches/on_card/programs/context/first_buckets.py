"""What NCCL and DDP take on the card, and when DDP lets go of its first buckets.

    python first_buckets.py OUT.jsonl resnet50|gpt [find_unused|static|view]
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

STEPS = 5


class Gpt(nn.Module):
    """A small GPT."""

    def __init__(self, width: int = 768, layers: int = 6) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50_304, width), nn.Embedding(512, width)
        layer = nn.TransformerEncoderLayer(width, 12, 4 * width, 0.0, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, layers), nn.Linear(width, 50_304, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits."""
        return self.head(self.body(self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))))


def device_used() -> int:
    """What the whole card holds."""
    free, total = torch.cuda.mem_get_info()
    return total - free


def main() -> None:
    """Five steps, with the allocator's history."""
    out, which, *options = sys.argv[1:]
    told: dict[str, Any] = {"model": which, "options": options}
    torch.cuda.set_device(0)
    torch.zeros(1, device="cuda")
    told["used_context"] = device_used()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29_511 + len(which) + sum(map(len, options))))
    dist.init_process_group("nccl", rank=0, world_size=1)
    told["used_after_init"] = device_used()
    block = torch.ones(1 << 20, device="cuda")
    before = device_used()
    dist.all_reduce(block)
    torch.cuda.synchronize()
    told["used_before_reduce"], told["used_after_reduce"] = before, device_used()
    torch.manual_seed(0)
    if which == "resnet50":
        from torchvision.models import resnet50

        model: nn.Module = resnet50().cuda()
        batch: tuple[torch.Tensor, torch.Tensor] = (torch.randn(32, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (32,), device="cuda"))
    else:
        model = Gpt().cuda()
        batch = (torch.randint(0, 50_000, (8, 512), device="cuda"), torch.randint(0, 50_000, (8 * 512,), device="cuda"))
    named = {"find_unused": {"find_unused_parameters": True}, "static": {"static_graph": True}, "view": {"gradient_as_bucket_view": True}}
    torch.cuda.memory._record_memory_history(max_entries=400_000, stacks="python")
    chosen: dict[str, Any] = {}
    for option in options:
        chosen.update(named.get(option, {}))
    ranks = nn.parallel.DistributedDataParallel(model, device_ids=[0], **chosen)
    optimizer = torch.optim.AdamW(ranks.parameters())
    marks: list[tuple[str, int]] = []
    told["steps"] = []

    def mark(name: str) -> None:
        marks.append((name, time.time_ns() // 1000))

    for step in range(STEPS):
        torch.cuda.reset_peak_memory_stats()
        mark(f"{step} forward")
        found = ranks(batch[0])
        loss = nn.functional.cross_entropy(found.flatten(0, -2) if found.dim() == 3 else found, batch[1])
        del found
        mark(f"{step} backward")
        loss.backward()
        after_backward = torch.cuda.memory_allocated()
        mark(f"{step} optimizer")
        optimizer.step()
        optimizer.zero_grad()
        if "wait" in options:
            torch.cuda.synchronize()
            time.sleep(0.3)
        mark(f"{step} end")
        seen = torch.cuda.memory_stats()
        told["steps"].append({
            "peak_allocated": seen["allocated_bytes.all.peak"], "peak_active": seen["active_bytes.all.peak"], "peak_reserved": seen["reserved_bytes.all.peak"],
            "after_backward": after_backward, "at_end": torch.cuda.memory_allocated(), "active_at_end": seen["active_bytes.all.current"],
        })
    torch.cuda.synchronize()
    time.sleep(0.5)
    mark("slept")
    told["allocated_after_sleep"] = torch.cuda.memory_allocated()
    told["used_at_end"] = device_used()
    told["ddp"] = {key: value for key, value in ranks._get_ddp_logging_data().items() if "bucket" in key or "rebuilt" in key}
    traces = torch.cuda.memory._snapshot()["device_traces"][0]
    told["marks"] = marks
    told["events"] = [
        [one["action"], one["addr"], one["size"], one["time_us"], one.get("stream", 0), (one.get("frames") or [{}])[0].get("name", "")]
        for one in traces
        if one.get("size", 0) >= 1 << 19
    ]
    told["reserved_config"] = {"allocated_peak": torch.cuda.max_memory_allocated()}
    with open(out, "a") as file:
        file.write(json.dumps(told) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
