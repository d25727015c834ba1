"""Plans the same jobs with other versions of torch and Python, and holds them against torch 2.11 and the H200.

    python tests/versions.py [--python PYTHON ...] [--torch VERSION ...] [--results FILE] [--write docs/versions.md]

Each pair gets a virtual environment of its own, which is gone afterwards; torch comes as PyPI has it. Takes
minutes and eight gigabytes of disk a pair. `--write` makes the page from all results that were ever kept in FILE.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sysconfig
import tempfile

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


def environment(folder: str, python: str, torch: str) -> str:
    """Makes a virtual environment and returns its interpreter."""
    uv = str(pathlib.Path(sysconfig.get_path("scripts")) / "uv")
    place = os.path.join(folder, "environment")
    settings = {**os.environ, "UV_CACHE_DIR": os.path.join(folder, "cache")}
    subprocess.run([uv, "venv", "--quiet", "--python", python, place], check=True, env=settings)
    words = [uv, "pip", "install", "--quiet", "--python", os.path.join(place, "bin/python")]
    subprocess.run([*words, f"torch=={torch}.*", "torchvision", "transformers<6", "numpy"], check=True, env=settings)
    return os.path.join(place, "bin", "python")


def versions(python: str) -> dict[str, str]:
    """What is really in there."""
    code = "import json, platform, torch; print(json.dumps([platform.python_version(), torch.__version__, torch.version.cuda]))"
    found = json.loads(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout)
    return dict(zip(("python", "torch", "cuda"), found, strict=True))


def plan(python: str, card: str, script: pathlib.Path, arguments: list[str]) -> dict:
    """Plans one job to its end."""
    oomph = os.environ.get("OOMPH", str(pathlib.Path(sysconfig.get_path("scripts")) / "oomph"))
    words = [oomph, "plan", "--gpu", card, "--steps", "0", "--json", "--python", python, str(script), *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
    if done.returncode == 2:
        return {"error": done.stderr.strip()[-500:]}
    found = json.loads(done.stdout)
    return {key: found[key] for key in (*PEAKS, "outcome", "unmodelled")}


def run_pair(python: str, torch: str) -> dict:
    """Every job with one pair."""
    with tempfile.TemporaryDirectory(prefix="oomph-versions-") as folder:
        interpreter = environment(folder, python, torch)
        jobs = {title: plan(interpreter, card, script, arguments) for title, card, script, arguments in JOBS}
        return {**versions(interpreter), "jobs": jobs}


def cell(job: dict, reference: dict) -> str:
    """The peaks of one job, and how far they are from the reference."""
    if "error" in job:
        return "failed"
    words = []
    for peak in PEAKS:
        difference = 100 * (job[peak] - reference[peak]) / reference[peak]
        words.append(f"{job[peak] / 2**20:.1f}" + (f" ({difference:+.2f} %)" if difference else ""))
    return " / ".join(words) + (" and calls without a model" if job["unmodelled"] else "")


def page(results: list[dict]) -> str:
    """The results as a table; the last of each pair counts."""
    latest = {(entry["torch"], entry["python"]): entry for entry in results}
    ordered = sorted(latest.values(), key=lambda entry: [int(part) for part in _numbers(entry)])
    reference = next(entry for entry in ordered if entry["torch"].startswith(MEASURED_TORCH + "."))
    titles = [title for title, *_ in JOBS]
    lines = ["| torch | CUDA | Python | " + " | ".join(titles) + " |", "|---|---|---|" + "---|" * len(titles)]
    for entry in ordered:
        cells = [cell(entry["jobs"][title], reference["jobs"][title]) for title in titles]
        lines.append(f"| {entry['torch']} | {entry['cuda']} | {entry['python']} | " + " | ".join(cells) + " |")
    return PAGE + "\n".join(lines) + "\n"


def _numbers(entry: dict) -> list[str]:
    return [*entry["torch"].split("+")[0].split(".")[:3], *entry["python"].split(".")[:2]]


def main() -> None:
    """Tries the pairs that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="*", default=["3.11"])
    parser.add_argument("--torch", nargs="*", default=[f"2.{minor}" for minor in range(6, 16)])
    parser.add_argument("--results", default="target/versions.jsonl")
    parser.add_argument("--write")
    options = parser.parse_args()
    results = pathlib.Path(options.results)
    for python in options.python:
        for torch in options.torch:
            entry = run_pair(python, torch)
            print(json.dumps(entry), flush=True)
            with open(results, "a") as file:
                file.write(json.dumps(entry) + "\n")
    if options.write:
        kept = [json.loads(line) for line in results.read_text().splitlines()]
        pathlib.Path(options.write).write_text(page(kept))


if __name__ == "__main__":
    main()
