"""Plans and records the same jobs with other versions of torch and Python.

    python tests/versions.py [--python PYTHON ...] [--torch VERSION ...] [--only plans|runs] [--results FILE]
                             [--write docs/versions.md]

Plans are held against torch 2.11 and the H200; a real run, on a hollow card, against what PyTorch itself counts. Each
pair gets a virtual environment of its own, which is gone afterwards; torch comes as PyPI has it. Takes minutes and
eight gigabytes of disk a pair. `--write` renews the rows of the page that are in FILE, and keeps the others.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import pickle
import subprocess
import sysconfig
import tempfile

from python.hollow_card import hollow_environment

ROOT = pathlib.Path(__file__).parents[1]
SCRIPTS = ROOT / "corpus" / "h200" / "scripts"
#: Title, card, script and arguments.
JOBS = (
    ("train", "h200", ROOT / "examples" / "train.py", ["--batch", "2", "--steps", "3"]),
    ("mlp", "h200", SCRIPTS / "plain.py", ["--model", "mlp", "--batch", "64", "--width", "4096"]),
    ("resnet50", "h200", SCRIPTS / "vision.py", "--model resnet50 --batch 64 --opt adamw --amp bf16 --channels-last".split()),
    ("gpt2", "h200", SCRIPTS / "lm.py", ["--model", "gpt2", "--batch", "8", "--seq", "512", "--amp", "bf16"]),
)
#: The version that the card was measured with.
MEASURED_TORCH = "2.11"
PEAKS = ("peak_allocated_bytes", "peak_reserved_bytes")
#: What is recorded. The lines that take memory are marked in it.
RECORDED = ROOT / "tests" / "python" / "jobs" / "versions_job.py"
MARK = "# takes memory"

PAGE = """# Versions of torch and Python

The pairs that were tried, each with the same four jobs: the peak allocated / reserved in MiB, and how far that is from
torch 2.11, for which [accuracy.md](accuracy.md) holds plans against a real H200. Other versions allocate differently, so
a difference is no error by itself. The largest have a name:

- From 2.15 on PyTorch gives every matrix product a cuBLAS workspace of its own (32 MiB on an H200) and frees it at
  once; before, it kept one for the forward and one for the backward pass. `TORCH_CUBLAS_WORKSPACE_CACHE=1` brings that
  back: `mlp` then has the peak of 2.14.
- Some versions keep 1 MiB for cuBLASLt beside that, others let it share the workspace of cuBLAS
  (`TORCH_CUBLASLT_UNIFIED_WORKSPACE`).

`make versions` makes this page, with the interpreters it is given (`PYTHONS="python3.11 python3.12"`).

"""

RUNS = """
## Real runs

The same small job under `oomph run` on a hollow card. *Recorder* says whether the recorder heard PyTorch's allocator
itself; where it could not, it falls back to PyTorch's own history and says why. *Allocations* and *peaks* are held
against `torch.cuda.memory_stats()`, *lines* against the lines of the job that take memory, *modules* against its two.

"""
PLAN_HEADER = "| torch | CUDA | Python | " + " | ".join(title for title, *_ in JOBS) + " |"
RUN_HEADER = "| torch | CUDA | Python | recorder | allocations | peaks | lines | modules |"


def environment(folder: str, python: str, torch: str, libraries: tuple[str, ...]) -> str:
    """Makes a virtual environment and returns its interpreter."""
    uv = str(pathlib.Path(sysconfig.get_path("scripts")) / "uv")
    place = os.path.join(folder, "environment")
    settings = {**os.environ, "UV_CACHE_DIR": os.path.join(folder, "cache")}
    subprocess.run([uv, "venv", "--quiet", "--python", python, place], check=True, env=settings)
    words = [uv, "pip", "install", "--quiet", "--python", os.path.join(place, "bin/python")]
    subprocess.run([*words, f"torch=={torch}.*", "numpy", *libraries], check=True, env=settings)
    return os.path.join(place, "bin", "python")


def versions(python: str) -> dict[str, str]:
    """What is really in there."""
    code = "import json, platform, torch; print(json.dumps([platform.python_version(), torch.__version__, torch.version.cuda]))"
    found = json.loads(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout)
    return dict(zip(("python", "torch", "cuda"), found, strict=True))


def oomph() -> str:
    """The command."""
    return os.environ.get("OOMPH", str(pathlib.Path(sysconfig.get_path("scripts")) / "oomph"))


def plan(python: str, card: str, script: pathlib.Path, arguments: list[str]) -> dict:
    """Plans one job to its end."""
    words = [oomph(), "plan", "--gpu", card, "--steps", "0", "--json", "--python", python, str(script), *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
    if done.returncode == 2:
        return {"error": done.stderr.strip()[-500:]}
    found = json.loads(done.stdout)
    return {key: found[key] for key in (*PEAKS, "outcome", "unmodelled")}


def record(python: str, folder: pathlib.Path) -> dict:
    """Runs the small job under `oomph run` on a hollow card, and compares."""
    counted, account, exported = folder / "counted.json", folder / "account.json", folder / "box.pickle"
    boxes = folder / "boxes"
    boxes.mkdir(mode=0o700)
    settings = hollow_environment(OOMPH_BOXES=str(boxes), XDG_STATE_HOME=str(folder / "state"))
    words = [oomph(), "run", "--json", str(account), "--python", python, str(RECORDED), str(counted)]
    done = subprocess.run(words, env=settings, capture_output=True, text=True, timeout=900)
    if done.returncode != 0 or not account.exists():
        return {"error": done.stderr.strip()[-500:]}
    told, stats = json.loads(account.read_text()), json.loads(counted.read_text())
    [box] = boxes.glob("*/*.box")
    subprocess.run([oomph(), "explain", str(box), "--export", str(exported)], capture_output=True, timeout=900)
    events = pickle.loads(exported.read_bytes())["device_traces"][0] if exported.exists() else []
    allocations = [event for event in events if event["action"] == "alloc"]
    marked = {at for at, text in enumerate(RECORDED.read_text().splitlines(), 1) if MARK in text}
    found = {_own_line(event["frames"]) for event in allocations}
    return {
        "notes": told["notes"],
        "allocations": [len(allocations), stats["allocation.all.allocated"]],
        "peaks_equal": [told[f"peak_{kind}_bytes"] == stats[f"{kind}_bytes.all.peak"] for kind in ("allocated", "reserved")],
        "lines": [len(marked & found), len(marked)],
        "strange_lines": sorted(map(str, found - marked)),
        "modules": [row["module"] for row in told["modules"] or []],
    }


def _own_line(frames: list[dict]) -> int | None:
    """The innermost line of the job itself."""
    return next((frame["line"] for frame in frames if frame["filename"] == str(RECORDED)), None)


def run_pair(python: str, torch: str, only: str | None) -> dict:
    """Every job with one pair."""
    with tempfile.TemporaryDirectory(prefix="oomph-versions-") as folder:
        libraries = () if only == "runs" else ("torchvision", "transformers<6")
        interpreter = environment(folder, python, torch, libraries)
        entry = {**versions(interpreter)}
        if only != "runs":
            entry["jobs"] = {title: plan(interpreter, card, script, words) for title, card, script, words in JOBS}
        if only != "plans":
            entry["run"] = record(interpreter, pathlib.Path(folder))
        return entry


def cell(job: dict, reference: dict) -> str:
    """The peaks of one job, and how far they are from the reference."""
    if "error" in job:
        return "failed"
    words = []
    for peak in PEAKS:
        difference = 100 * (job[peak] - reference[peak]) / reference[peak]
        words.append(f"{job[peak] / 2**20:.1f}" + (f" ({difference:+.2f} %)" if difference else ""))
    return " / ".join(words) + (" and calls without a model" if job["unmodelled"] else "")


def run_cells(run: dict) -> list[str]:
    """What the recorder came to with one pair."""
    if "error" in run:
        return ["failed", "", "", "", ""]
    (recorded, counted), (found, marked) = run["allocations"], run["lines"]
    strange = f", and {', '.join(run['strange_lines'])}" if run["strange_lines"] else ""
    return [
        "attached" if not run["notes"] else "; ".join(run["notes"]),
        "all" if recorded == counted else f"{recorded} of {counted}",
        "equal" if all(run["peaks_equal"]) else "differ",
        f"{found} of {marked}{strange}",
        f"{len(run['modules'])} of 2",
    ]


def page(results: list[dict], before: str) -> str:
    """Two tables, a row for each pair: the last of these results counts, else what the page says already."""
    plans, runs = rows_below(PLAN_HEADER, before), rows_below(RUN_HEADER, before)
    measured = [entry for entry in results if "jobs" in entry and entry["torch"].startswith(MEASURED_TORCH + ".")]
    for entry in results:
        key, first = (entry["torch"], entry["python"]), [entry["torch"], entry["cuda"], entry["python"]]
        if "jobs" in entry:
            assert measured, f"plans are compared with torch {MEASURED_TORCH}: try that too"
            cells = [cell(entry["jobs"][title], measured[-1]["jobs"][title]) for title, *_ in JOBS]
            plans[key] = row(first + cells)
        if "run" in entry:
            runs[key] = row(first + run_cells(entry["run"]))
    return PAGE + table(PLAN_HEADER, plans) + RUNS + table(RUN_HEADER, runs)


Rows = dict[tuple[str, str], str]


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def rows_below(header: str, text: str) -> Rows:
    """The rows of a table that the page has already, by torch and Python."""
    _, _, rest = text.partition(header + "\n")
    rows = [line for line in rest.partition("\n\n")[0].splitlines()[1:] if line.startswith("| ")]
    cells = [[part.strip() for part in line.split("|")] for line in rows]
    return {(parts[1], parts[3]): line for parts, line in zip(cells, rows)}


def table(header: str, rows: Rows) -> str:
    ordered = [rows[key] for key in sorted(rows, key=_numbers)]
    return "\n".join([header, "|---" * (header.count("|") - 1) + "|", *ordered]) + "\n"


def _numbers(key: tuple[str, str]) -> list[int]:
    torch, python = key
    return [int(part) for part in [*torch.split("+")[0].split(".")[:3], *python.split(".")[:2]]]


def main() -> None:
    """Tries the pairs that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="*", default=["3.11"])
    parser.add_argument("--torch", nargs="*", default=[f"2.{minor}" for minor in range(6, 16)])
    parser.add_argument("--only", choices=["plans", "runs"])
    parser.add_argument("--results", default="target/versions.jsonl")
    parser.add_argument("--write")
    options = parser.parse_args()
    results = pathlib.Path(options.results)
    for python in options.python:
        for torch in options.torch:
            entry = run_pair(python, torch, options.only)
            print(json.dumps(entry), flush=True)
            with open(results, "a") as file:
                file.write(json.dumps(entry) + "\n")
    if options.write:
        kept = [json.loads(line) for line in results.read_text().splitlines()]
        written = pathlib.Path(options.write)
        written.write_text(page(kept, written.read_text() if written.exists() else ""))


if __name__ == "__main__":
    main()
