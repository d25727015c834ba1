"""What a CUDA context takes of the host: RSS and PSS of a process after each of the first things it does.

    python host.py OUT.jsonl plain|pinned
"""

from __future__ import annotations

import collections
import json
import re
import sys
from typing import Any


def held() -> dict[str, Any]:
    """This process now, with the mappings that hold the most."""
    rollup = {}
    with open("/proc/self/smaps_rollup") as file:
        for line in file:
            found = re.match(r"(\w+):\s+(\d+) kB", line)
            if found:
                rollup[found[1].lower() + "_bytes"] = int(found[2]) * 1024
    by_name: collections.Counter[str] = collections.Counter()
    name = ""
    with open("/proc/self/smaps") as file:
        for line in file:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                parts = line.split(maxsplit=5)
                name = parts[5].strip().rsplit("/", 1)[-1] if len(parts) > 5 else "anonymous"
            elif line.startswith("Rss:"):
                by_name[name] += int(line.split()[1]) * 1024
    return {**rollup, "mappings": dict(by_name.most_common(14))}


def main() -> None:
    """The stages, one line each."""
    out, kind = sys.argv[1:3]
    lines: list[dict[str, Any]] = []

    def say(stage: str) -> None:
        facts: dict[str, Any] = {"kind": kind, "stage": stage, **held()}
        if "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized():
            free, total = sys.modules["torch"].cuda.mem_get_info()
            facts["device_used_bytes"] = total - free
        lines.append(facts)

    say("python")
    import torch

    say("import torch")
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    say("zeros(1)")
    if kind == "pinned":
        pinned = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True)
        say("pinned 1 GiB")
        pinned.fill_(1)
        say("pinned 1 GiB, filled")
        other = torch.empty((1 << 30) + 1, dtype=torch.uint8, pin_memory=True)
        say("pinned 1 GiB + 1 byte more")
        del pinned, other
        say("both given up")
    square = torch.randn(1024, 1024, device="cuda", requires_grad=True)
    (square @ square).sum().backward()
    torch.cuda.synchronize()
    say("matmul")
    (square.bfloat16() @ square.bfloat16()).sum().item()
    say("matmul, bfloat16")
    layer = torch.nn.Conv2d(3, 64, 7).cuda()
    layer(torch.randn(8, 3, 224, 224, device="cuda")).sum().backward()
    torch.cuda.synchronize()
    say("convolution")
    heads = torch.randn(2, 8, 512, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    torch.nn.functional.scaled_dot_product_attention(heads, heads, heads).sum().backward()
    torch.optim.AdamW(layer.parameters()).step()
    torch.cuda.synchronize()
    say("attention, AdamW")
    with open(out, "a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
