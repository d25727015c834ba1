"""Runs one script under a memory cap and keeps PyTorch's own snapshot: record.py SCRIPT OUT.pickle.gz

The script's docstring says `class:` and `cap_mib:`; the line that ends in `# guilty` is the one a verdict must name.
RECORD in the environment lists modes: with `observer` the snapshot is taken by the OOM observer, while every tensor is still alive, as trainers do;
with `all` C++ frames are kept too; with `ring` only the last 2,000 events are.
"""
import gzip
import json
import os
import pickle
import re
import runpy
import sys

import torch

script, out = sys.argv[1:3]
text = open(script).read()
expected = re.search(r"class: (\w+)", text).group(1)
cap_mib = int(re.search(r"cap_mib: (\d+)", text).group(1))
guilty = [i for i, line in enumerate(text.splitlines(), 1) if line.endswith("# guilty")]
sys.argv = [script]
taken = []


def take(*_):
    if not taken:
        taken.append(torch.cuda.memory._snapshot())


total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction(cap_mib * 2**20 / total)
modes = os.environ.get("RECORD", "").split(",")
torch.cuda.memory._record_memory_history(
    max_entries=2_000 if "ring" in modes else 500_000, stacks="all" if "all" in modes else "python"
)
if "observer" in modes:
    torch._C._cuda_attach_out_of_memory_observer(take)
row = {"case": os.path.basename(script)[:-3], "class": expected, "file": os.path.basename(script), "line": guilty[0] if guilty else None, "cap_mib": cap_mib}
try:
    runpy.run_path(script, run_name="__main__")
    row["end"] = "ok"
except torch.OutOfMemoryError as error:
    row["end"] = str(error).split("\n")[0]
stats = torch.cuda.memory_stats()
row.update(observer=bool(taken), allocated=stats["allocated_bytes.all.current"], reserved=stats["reserved_bytes.all.current"], peak_allocated=stats["allocated_bytes.all.peak"], peak_reserved=stats["reserved_bytes.all.peak"])
take()
with gzip.open(out, "wb", 9) as file:
    pickle.dump(taken[0], file, protocol=4)
print("ROW " + json.dumps(row))
