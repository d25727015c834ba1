"""What the recorder costs: pairs of taking and giving back a block, with and without it, in one process.

The allocator's own work is the base; rounds alternate nothing between them but time, so the minimum of many is what
counts. On a hollow card by default (`--real` on the machine's own), where kernels take no time. A tracker cannot be
detached, so what is measured before is the base, and a second base the control: how far two equal measurements differ.
"""

import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
PAIRS = 1500
TARGET_NS = 250


def measure(torch, rounds, depth):
    """The least time of a pair in nanoseconds, from a stack this deep."""
    if depth:
        return measure(torch, rounds, depth - 1)
    # What `torch.cuda.caching_allocator_alloc` calls, without its Python.
    take, give = torch._C._cuda_cudaCachingAllocator_raw_alloc, torch._C._cuda_cudaCachingAllocator_raw_delete
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter_ns()
        for _ in range(PAIRS):
            give(take(4096, 0))
        best = min(best, time.perf_counter_ns() - began)
    return best / PAIRS


def attach(torch, folder):
    """Loads the recorder and attaches it."""
    recorder = ctypes.PyDLL(os.environ["OOMPH_RECORDER_LIB"])
    u64 = ctypes.c_uint64
    problem = ctypes.create_string_buffer(500)
    code = id(torch.nn.Module.__call__.__code__)
    path = str(pathlib.Path(folder) / "cost.box").encode()
    failed = recorder.oomph_recorder_open(path, u64(48 << 20), problem, u64(500))
    failed = failed or recorder.oomph_recorder_python(hex(sys.hexversion).encode(), u64(code), b"")
    failed = failed or recorder.oomph_recorder_attach(problem, u64(500))
    if failed:
        raise SystemExit(f"the recorder did not attach: {problem.value.decode()}")
    return recorder


def inside(rounds):
    """Measures in this process; prints one object of JSON."""
    import torch

    torch.cuda.init()
    torch.empty(1, device="cuda")
    depths = (0, 30)
    measure(torch, 20, 0)
    base = {depth: measure(torch, rounds, depth) for depth in depths}
    control = {depth: measure(torch, rounds, depth) for depth in depths}
    with tempfile.TemporaryDirectory() as folder:
        recorder = attach(torch, folder)
        measure(torch, 20, 0)
        recorder.oomph_recorder_pause(1)
        paused = {depth: measure(torch, rounds, depth) for depth in depths}
        recorder.oomph_recorder_pause(0)
        recorded = {depth: measure(torch, rounds, depth) for depth in depths}
    rows = [
        {"depth": depth, "base_ns": base[depth], "control_ns": control[depth], "paused_ns": paused[depth],
         "recorded_ns": recorded[depth]}
        for depth in depths
    ]
    print(json.dumps(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--real", action="store_true", help="on the machine's own card")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(options.rounds)
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from hollow_card import hollow_environment, library

    environment = dict(os.environ) if options.real else hollow_environment()
    environment["OOMPH_RECORDER_LIB"] = str(library("oomph-recorder"))
    command = [sys.executable, __file__, "--inside", "--rounds", str(options.rounds)]
    rows = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)
    for row in rows:
        added = row["recorded_ns"] - row["base_ns"]
        print(
            f"{row['depth']:3} frames deep: {row['base_ns']:6.0f} ns a pair, {row['recorded_ns']:6.0f} recorded: "
            f"{row['recorded_ns'] / row['base_ns']:.2f}x, {added:+.0f} ns (aim: at most {TARGET_NS}), "
            f"{row['paused_ns'] - row['base_ns']:+.0f} ns of it PyTorch's own, control {row['control_ns'] / row['base_ns']:.2f}x"
        )


if __name__ == "__main__":
    main()
