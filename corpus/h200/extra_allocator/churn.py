"""Drives PyTorch's CUDA allocator into its rarer paths and keeps the snapshot with the statistics: churn.py CASE OUT.pickle.gz

The environment's PYTORCH_CUDA_ALLOC_CONF is part of each case (see CASES).
"""
import gzip
import json
import os
import pickle
import random
import subprocess
import sys

CASES = {  # name: (PYTORCH_CUDA_ALLOC_CONF, cap in MiB or 0)
    "roundup": ("roundup_power2_divisions:4", 0),
    "roundup_list": ("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 0),
    "gc": ("garbage_collection_threshold:0.5", 900),
    "gc_expandable": ("garbage_collection_threshold:0.4,expandable_segments:True", 900),
    "max_split": ("max_split_size_mb:32", 700),
    "max_split_rounding": ("max_split_size_mb:24,max_non_split_rounding_mb:40", 800),
    "max_split_gc": ("max_split_size_mb:40,garbage_collection_threshold:0.6", 800),
    "large_segment": ("large_segment_size_mb:64", 0),
    "large_segment_expandable": ("large_segment_size_mb:32,expandable_segments:True", 800),
    "retry": ("", 600),
    "retry_expandable": ("expandable_segments:True", 600),
    "retry_streams": ("", 700),
    "retry_streams_expandable": ("expandable_segments:True", 700),
    "empty_cache": ("", 0),
    "empty_cache_expandable": ("expandable_segments:True", 0),
    "graphs": ("", 0),
    "graphs_expandable": ("expandable_segments:True", 0),
    "mempool": ("", 0),
    "mempool_on_oom": ("", 500),
    "toggle_expandable": ("", 0),
    "ring_buffer": ("", 0),
    "cpp_stacks": ("", 0),
    "late_start": ("", 0),
}
if len(sys.argv) == 2:
    os.makedirs(sys.argv[1], exist_ok=True)
    running = [(name, subprocess.Popen([sys.executable, __file__, name, f"{sys.argv[1]}/{name}.pickle.gz"], env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": conf}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)) for name, (conf, _) in CASES.items()]
    for name, process in running:
        text = process.communicate()[0]
        rows = [line for line in text.splitlines() if line.startswith("ROW ")]
        print(rows[0] if rows else f"FAILED {name} {text[-600:]}", flush=True)
    raise SystemExit

import torch

case, out = sys.argv[1:3]
conf, cap_mib = CASES[case]
random.seed(case)
total = torch.cuda.get_device_properties(0).total_memory
if cap_mib:
    torch.cuda.set_per_process_memory_fraction(cap_mib * 2**20 / total)
ooms = 0


def record(**options):
    torch.cuda.memory._record_memory_history(stacks="python", **{"max_entries": 200_000, **options})


def size_bytes():
    return int(2 ** random.uniform(6, 27.5))


def churn(count, live_mib, streams=(None,), empty_every=0):
    global ooms
    live = []
    for i in range(count):
        stream = random.choice(streams)
        try:
            with torch.cuda.stream(stream):
                tensor = torch.empty(size_bytes(), dtype=torch.uint8, device="cuda")
            live.append(tensor)
            if len(streams) > 1 and random.random() < 0.2:
                other = random.choice([s for s in streams if s is not stream]) or torch.cuda.default_stream()
                with torch.cuda.stream(other):
                    torch.cuda._sleep(random.randrange(1000, 300000))
                tensor.record_stream(other)
        except torch.OutOfMemoryError:
            ooms += 1
            tensor = None
            del live[: len(live) // 2]
        tensor = None
        while sum(t.numel() for t in live) > live_mib * 2**20:
            live.pop(random.randrange(len(live)))
        if empty_every and i % empty_every == empty_every - 1:
            torch.cuda.empty_cache()
    return live


if case not in ("late_start", "cpp_stacks", "ring_buffer"):
    record()
kept = []
if case.startswith("retry_streams"):
    kept = churn(900, 450, (None, torch.cuda.Stream(), torch.cuda.Stream()))
elif case.startswith("empty_cache"):
    kept = churn(800, 700, (None, torch.cuda.Stream()), empty_every=37)
elif case.startswith("graphs"):
    layer = torch.nn.Sequential(torch.nn.Linear(1024, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 1024)).cuda()
    x = torch.randn(700, 1024, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            layer(x)
    torch.cuda.synchronize()
    first, second, third = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        kept.append(layer(x) * 2)
    with torch.cuda.graph(second, pool=first.pool()):
        kept.append(layer(kept[0]).relu())
    with torch.cuda.graph(third):
        scratch = [torch.empty(int(2 ** random.uniform(9, 25)), dtype=torch.uint8, device="cuda") for _ in range(30)]
        del scratch[::2]
        kept.append(layer(x))
    churned = churn(100, 200)
    kept.clear()
    del first, second, third, scratch
    torch.cuda.empty_cache()
    kept = churn(60, 150)
elif case == "mempool":
    plain, unsplit = torch.cuda.MemPool(), torch.cuda.MemPool(no_split=True)
    for pool in (plain, unsplit):
        with torch.cuda.use_mem_pool(pool):
            kept += churn(80, 150)
    kept += churn(80, 150)
    with torch.cuda.use_mem_pool(plain):
        kept += churn(80, 150)
elif case == "mempool_on_oom":
    spare = torch.cuda.MemPool(use_on_oom=True)
    with torch.cuda.use_mem_pool(spare):
        hold = torch.empty(200 * 2**20, dtype=torch.uint8, device="cuda")
    del hold
    kept = churn(300, 420)
elif case == "toggle_expandable":
    kept = churn(100, 200)
    torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    kept += churn(200, 300)
    torch.cuda.memory._set_allocator_settings("expandable_segments:False")
    kept += churn(150, 200)
    torch.cuda.empty_cache()
elif case == "ring_buffer":
    record(max_entries=500)
    kept = churn(600, 500)
elif case == "cpp_stacks":
    torch.cuda.memory._record_memory_history(stacks="all", max_entries=100_000)
    kept = churn(40, 300)
elif case == "late_start":
    kept = churn(200, 400)
    record()
    kept += churn(200, 300)
else:
    kept = churn(900, 450)
row = {"case": case, "conf": conf, "cap_mib": cap_mib, "caught_ooms": ooms, "device_total": total}
stats = torch.cuda.memory_stats()
for key in ("allocated_bytes", "active_bytes", "reserved_bytes", "requested_bytes", "inactive_split_bytes"):
    row["peak_" + key], row["end_" + key] = stats[key + ".all.peak"], stats[key + ".all.current"]
row.update(count_allocation=stats["allocation.all.allocated"], count_segment=stats["segment.all.allocated"], retries=stats["num_alloc_retries"], ooms=stats["num_ooms"])
for key in ("num_sync_all_streams", "num_device_alloc", "num_device_free"):
    row[key] = stats[key]
with gzip.open(out, "wb", 9) as file:
    pickle.dump(torch.cuda.memory._snapshot(), file, protocol=4)
print("ROW " + json.dumps(row), flush=True)
