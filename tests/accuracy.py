"""Plans every job that was measured on a real H200 and holds the plan against the card.

    python tests/accuracy.py [--only WORDS] [--jobs N] [--write docs/accuracy.md] [--check]

Each case runs to its own end, as it did on the card; peaks are compared in per cent.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).parents[1]
CORPUS = ROOT / "corpus" / "h200"
PEAKS = ("peak_allocated_bytes", "peak_reserved_bytes")
#: For each peak: the part of cases that must lie within a first bound, the bound, and the bound for all. In per cent.
TARGETS = {"peak_allocated_bytes": (95, 0.1, 1.0), "peak_reserved_bytes": (90, 0.5, 3.0)}
#: A plan that takes longer is a failure.
LIMIT_SECONDS = 600

#: What was measured, where the scripts are that were, and the set they make; without a name each script makes its own.
MEASURED = (
    (CORPUS / "h200.jsonl", CORPUS / "scripts", "first"),
    (CORPUS / "variants.jsonl", CORPUS / "scripts", "variants"),
    (CORPUS / "extra_plan/h200.jsonl", CORPUS / "extra_plan/cases", None),
)


def cases() -> list[dict]:
    """What was measured, one dictionary a job; `path` is its script."""
    found = []
    for file, folder, group in MEASURED:
        with open(file) as lines:
            for case in map(json.loads, lines):
                found.append({**case, "path": folder / case["script"], "set": group or pathlib.Path(case["script"]).stem})
    return [case for case in found if case["end"] == "ok"]


def name(case: dict) -> str:
    """A case as one types it."""
    return " ".join([*filter(None, [case["conf"]]), case["script"], *case["args"]])


def command() -> str:
    """The command to judge: `$OOMPH`, or the one beside this interpreter."""
    return os.environ.get("OOMPH", str(pathlib.Path(sysconfig.get_path("scripts")) / "oomph"))


def plan(case: dict) -> dict:
    """Plans one case to its end; what went wrong stands under `error`."""
    environment = dict(os.environ)
    if case["conf"]:
        environment["PYTORCH_CUDA_ALLOC_CONF"] = case["conf"]
    words = [command(), "plan", "--gpu", "h200", "--steps", "0", "--json", "--python", sys.executable]
    words += [str(case["path"]), *case["args"]]
    start = time.monotonic()
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as job:
        try:
            told, said = job.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            # The script is a child of the command: both must go, or it runs on for ever.
            os.killpg(job.pid, signal.SIGKILL)
            job.communicate()
            return {"error": [f"ran on for {LIMIT_SECONDS} s"], "seconds": LIMIT_SECONDS}
    seconds = time.monotonic() - start
    if job.returncode == 1:
        return {"error": ["ran out of memory"], "seconds": seconds}
    if job.returncode != 0:
        return {"error": (said.strip().splitlines() or [f"no word, status {job.returncode}"])[-2:], "seconds": seconds}
    return {**json.loads(told), "seconds": seconds}


def errors(case: dict, planned: dict) -> dict[str, float]:
    """By how many per cent each planned peak is off."""
    return {peak: 100 * (planned[peak] / case[peak] - 1) for peak in PEAKS}


def score(peak: str, values: list[float], count: int) -> dict[str, float | int | bool]:
    """The arithmetic of the scoreboard for one peak over `count` cases, of which some may have failed."""
    absolute = sorted(abs(value) for value in values)
    share, near, bound = TARGETS[peak]
    within = sum(value <= near for value in absolute)
    worst = absolute[-1] if absolute else float("inf")
    return {
        "cases": count,
        "exact": sum(value == 0 for value in absolute),
        "median": statistics.median(absolute) if absolute else float("inf"),
        "within 0.1 %": sum(value <= 0.1 for value in absolute),
        "within 0.5 %": sum(value <= 0.5 for value in absolute),
        "within 2 %": sum(value <= 2 for value in absolute),
        "worst": worst,
        "met": len(absolute) == count and 100 * within >= share * count and worst <= bound,
    }


def summary(results: list[tuple[dict, dict]]) -> tuple[list[str], bool]:
    """A table of the sets and of all, and whether every target is met over all."""
    sets = list(dict.fromkeys(case["set"] for case, _ in results))
    groups = [(group, [pair for pair in results if pair[0]["set"] == group]) for group in sets]
    lines = ["| set | peak | cases | exact | median | within 0.1 % | within 0.5 % | within 2 % | worst | target | met |"]
    lines += ["|---|---|---|---|---|---|---|---|---|---|---|"]
    met = True
    for group, members in [*groups, ("all", results)]:
        for peak, (share, near, bound) in TARGETS.items():
            found = [errors(case, planned)[peak] for case, planned in members if "error" not in planned]
            values = score(peak, found, len(members))
            cells = [group, peak.split("_")[1], values["cases"], values["exact"], f"{values['median']:.3f} %"]
            cells += [values[key] for key in ("within 0.1 %", "within 0.5 %", "within 2 %")]
            cells += [f"{values['worst']:.2f} %", f"{share} % within {near} %, all within {bound:g} %"]
            lines.append("| " + " | ".join(map(str, [*cells, "yes" if values["met"] else "no"])) + " |")
            met &= values["met"] or group != "all"
    return lines, met


def report(results: list[tuple[dict, dict]]) -> tuple[str, bool]:
    """The scoreboard in Markdown, and whether every target is met."""
    rows, failed = [], []
    for case, planned in results:
        if "error" in planned:
            failed.append(f"- `{name(case)}`: {' '.join(planned['error'])}")
            shown = ["failed", "failed"]
        else:
            shown = ["exact" if off == 0 else f"{off:+.3f} %" for off in errors(case, planned).values()]
        rows.append(f"| `{name(case)}` | {shown[0]} | {shown[1]} | {planned['seconds']:.0f} |")
    lines, met = summary(results)
    lines += ["", "| case | allocated | reserved | seconds |", "|---|---|---|---|", *rows]
    if failed:
        lines += ["", "Failed:", "", *failed]
    return "\n".join(lines) + "\n", met


HEADER = """# Accuracy

What `oomph plan --gpu h200` says on a machine without a GPU, against what an H200 measured: the difference of the two
peaks over the whole run of every job in `corpus/h200/h200.jsonl`, `variants.jsonl` beside it and
`corpus/h200/extra_plan/h200.jsonl`. `make accuracy` makes this page. [programs.md](programs.md) has public
programs that were measured before any of them had been planned.

The sets: `first` is what the mechanisms were found with. The others were measured later, each before any of its jobs had
been planned; what the first plans had wrong was then mended where it was a mechanism. `variants` are the scripts of
`first` with other models and options: at first sight 65 of 67 were within 0.1 % allocated, 66 within 0.5 % reserved. `zoo4`
are jobs of `torch.distributed` with one process.

Where a plan is off it is for one of five reasons: values that only the card has (routing, detections, the steps that a
gradient scaler skips); the moment at which a side stream is done with a block; workspaces of products that cuDNN hands on
to cuBLASLt; the order of addresses, where PyTorch's allocator chooses between equal blocks by it; and the moment at
which NCCL's watchdog lets go of DDP's first buckets, by which runs of one job on the card differ among themselves
(`again` in the file has the peaks of jobs that were run more than once): the plan has them freed when the second step
begins, as the card does more often than not, and says what the other case takes more ([ranks.md](ranks.md)).

Jobs of some kinds were off before, in sets that are not kept here: CLIP with accumulation, Whisper in float16, Trainer with
checkpointing, diffusion with an average of the weights, `torch.compile`, `cudnn.benchmark`. `zoo5` are fourteen of these
kinds, written before any was measured and measured before any was planned: at first sight 13 within 0.1 % allocated and 13
within 0.5 % reserved; the one that is not is diffusion in float32. With `cudnn.benchmark` PyTorch times cuDNN's engines, so
that the card's choice may be another than the plan's.

"""


def main() -> int:
    """Plans, prints, keeps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name contains this, or those of a set")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    args = parser.parse_args()
    chosen = [case for case in cases() if args.only in name(case) or args.only == case["set"]]

    def one(case: dict) -> tuple[dict, dict]:
        planned = plan(case)
        off = planned.get("error") or " ".join(f"{value:+.3f} %" for value in errors(case, planned).values())
        print(f"{off}  {name(case)}  {planned['seconds']:.0f} s", file=sys.stderr, flush=True)
        return case, planned

    with ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(one, chosen))
    text, met = report(results)
    print(text, end="")
    if args.write:
        args.write.write_text(HEADER + text)
    return 1 if args.check and not met else 0


if __name__ == "__main__":
    sys.exit(main())
