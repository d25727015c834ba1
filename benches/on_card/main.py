"""What `oomph run` costs and gets right on a real card: main.py OUT.json [--oomcases DIR]. Needs a card; nothing in CI does.

- `cost`: the same job plainly and under `oomph run`, in turns, five times each: ratio of median steps, and the noise (the
  ratio of plain runs to one another).
- `counts`: what the recorder counted against `torch.cuda.memory_stats`.
- `features`: what PyTorch counts with and without the recorder, for everything that bends its allocator.
- `shortages`: jobs that run out of memory for a known reason: class and line.
- `promises`: `oomph plan`, then `oomph run` of the same job: how far off the plan was.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
OOMPH = os.environ.get("OOMPH", "oomph")
REPEATS = 5
#: Runs of a feature whose counters are compared.
PLAIN_RUNS, RECORDED_RUNS = 4, 2
AT_ONCE = 4
JOBS = {"gpt2": 25, "resnet50": 50, "qwen2": 25, "small": 800}
WARM_UP = 5
FEATURES = ["plain", "cuda_graphs", "reduce_overhead", "mem_pools", "cudnn_benchmark", "ddp", "streams"]
CONFS = {"native": None, "expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync"}
PLANNED = [("gpt2", 3), ("resnet50", 3), ("qwen2", 3), ("small", 5)]


def run(command, environment=None):
    """Runs a command; returns its exit code, what it printed and how long it took."""
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})}, timeout=400)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - start


def job(script, *words, recorded, options=(), environment=None):
    """The JSON that a script prints, run plainly or under `oomph run`."""
    start = [OOMPH, "run", "--python", sys.executable, *options] if recorded else [sys.executable]
    code, out, err, seconds = run([*start, str(HERE / script), *map(str, words)], environment)
    if code != 0:
        return {"failed": code, "stderr": err[-1500:]}
    return {**json.loads(out.strip().splitlines()[-1]), "seconds": seconds, "stderr": err[-1500:]}


def cost(repeats, until, keep):
    """Rounds over all jobs, so that what a machine does meanwhile hits all of them; `keep` gets what there is so far."""
    medians = {name: {"plain": [], "recorded": []} for name in JOBS}
    counts, found = {}, {}
    for repeat in range(repeats):
        for name, steps in JOBS.items():
            if time.monotonic() > until:
                break
            # Turned around each time: whoever comes second finds a warmer card.
            for kind in ("plain", "recorded") if repeat % 2 == 0 else ("recorded", "plain"):
                told = job("steps.py", name, steps, recorded=kind == "recorded")
                if "failed" in told:
                    found[name] = told
                    continue
                medians[name][kind].append(statistics.median(told["times_ms"][WARM_UP:]))
                if kind == "recorded":
                    counts[name] = {"counted": told["counted"], "stats": told["found"]}
            keep(costs(medians, counts) | found)
    return costs(medians, counts) | found


def costs(medians, counts):
    found = {}
    for name, kinds in medians.items():
        pairs = list(zip(kinds["plain"], kinds["recorded"]))
        if not pairs:
            continue
        ratios = [recorded / plain for plain, recorded in pairs]
        found[name] = {
            "ratio": statistics.median(ratios),
            "ratios": ratios,
            "noise": [plain / statistics.median(kinds["plain"]) for plain in kinds["plain"]],
            "plain_ms": statistics.median(kinds["plain"]),
            "recorded_ms": statistics.median(kinds["recorded"]),
            "counts": counts[name],
            "counts_equal": counts[name]["counted"] == counts[name]["stats"],
        }
    return found


def together(jobs):
    """Runs several jobs at a time, where no time is measured; results by name."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(jobs, pool.map(lambda job: job(), jobs.values())))


def feature(name, conf):
    environment = {"PYTORCH_CUDA_ALLOC_CONF": conf} if conf else {}
    kinds = [False] * PLAIN_RUNS + [True] * RECORDED_RUNS
    told = [job("features.py", name, recorded=is_recorded, environment=environment) for is_recorded in kinds]
    failed = [run.get("stderr", "")[-600:] for run in told if "failed" in run]
    if failed:
        return {"failed": failed, "of_them_recorded": sum("failed" in run for run in told[PLAIN_RUNS:])}
    plain, recorded = told[:PLAIN_RUNS], told[PLAIN_RUNS:]
    # Some features differ from run to run by themselves: what plain runs came to is what a recorded one may come to.
    by_itself = {key: values for key in plain[0]["stats"] if len(values := sorted({run["stats"][key] for run in plain})) > 1}
    different = [difference for run in recorded if (difference := differences(plain[0], run))]
    beyond = sorted({key for difference in different for key in difference} - set(by_itself))
    seen = [run["segments"] for run in plain]
    same = all(run["segments"] in seen and run["backend"] == plain[0]["backend"] for run in recorded)
    return {"equal": not beyond and (same or bool(by_itself)), "beyond_plain_runs": beyond, "different": different,
            "segments_equal": same, "different_by_itself": by_itself}


def differences(plain, other):
    """What PyTorch counts in one run and not in the other."""
    return {key: (plain["stats"].get(key), value) for key, value in other["stats"].items() if plain["stats"].get(key) != value}


def features(wanted):
    pairs = [(name, conf) for name in wanted or FEATURES for conf in CONFS]
    # CUDA's own pool has neither pools of PyTorch's nor graphs, and in cuDNN's search it takes all of a card.
    pairs = [pair for pair in pairs if pair[1] != "async" or pair[0] in ("plain", "ddp", "streams")]
    return together({f"{name} {conf}": functools.partial(feature, name, CONFS[conf]) for name, conf in pairs})


def shortage(script, case):
    """One job that runs out of memory for a known reason, as the script that it is."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch, "account.json")
        options = ["--python", sys.executable, "--json", str(out)]
        code, _, err, seconds = run([OOMPH, "run", *options, str(script), case["case"], "-", str(case["cap_mib"])])
        verdict = (json.loads(out.read_text()) if out.exists() else {}).get("verdict") or {}
    told = {"class": verdict.get("class"), "line": verdict.get("line")}
    expected = {"class": case["class"], "line": case.get("line")}
    in_exception = "\noomph: " in err
    return {"right": told == expected, "told": told, "expected": expected, "exit_code": code, "seconds": seconds,
            "in_exception": in_exception, "stderr": err[-2500:]}


def shortages(folder):
    """The jobs of a file that lists them, without its own handling of the error."""
    folder = pathlib.Path(folder)
    text = (folder / "oomcases.py").read_text()
    body = text[: text.index("res = {")].replace("torch.cuda.memory._record_memory_history", "(lambda **_: None)")
    cases = [json.loads(line) for line in (folder / "oom.jsonl").read_text().splitlines()]
    # One takes the whole card, which the others would notice.
    alone = [case for case in cases if case["class"] == "outside_pytorch"]
    with tempfile.TemporaryDirectory() as scratch:
        script = pathlib.Path(scratch, "oomcases.py")
        script.write_text(body + "globals()[name]()\n")
        found = together({case["case"]: functools.partial(shortage, script, case) for case in cases if case not in alone})
        found.update({case["case"]: shortage(script, case) for case in alone})
    return found


def promise(words):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch, "account.json")
        command = [str(HERE / words[0]), *words[1:]]
        options = ["--python", sys.executable]
        environment = {"XDG_STATE_HOME": scratch}
        planned = run([OOMPH, "plan", "--gpu", "h200", "--json", "--steps", "0", *options, *command], environment)
        code, _, err, _ = run([OOMPH, "run", "--json", str(out), *options, *command], environment)
        account = json.loads(out.read_text()) if out.exists() else {}
        return {
            "plan_code": planned[0], "run_code": code, "promise": account.get("promise"),
            "peaks": [account.get("peak_allocated_bytes"), account.get("peak_reserved_bytes")],
            "account": err[-1500:], "plan_stderr": planned[2][-300:],
        }


def promises():
    jobs = [("steps.py", name, str(steps)) for name, steps in PLANNED]
    jobs += [("features.py", name) for name in ("plain", "mem_pools", "cudnn_benchmark", "streams")]
    return together({" ".join(words): functools.partial(promise, words) for words in jobs})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--oomcases")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--seconds", type=float, default=3600, help="what the costs may take")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--features", nargs="*")
    wanted = parser.parse_args()
    until = time.monotonic() + wanted.seconds
    found = {}

    def keep(name, part):
        found[name] = part
        pathlib.Path(wanted.out).write_text(json.dumps(found, indent=1))

    parts = {
        "features": lambda: features(wanted.features),
        "promises": promises,
        "cost": lambda: cost(wanted.repeats, until, functools.partial(keep, "cost")),
    }
    if wanted.oomcases:
        parts = {"shortages": lambda: shortages(wanted.oomcases), **parts}
    for name, part in parts.items():
        if wanted.only and name not in wanted.only:
            continue
        start = time.monotonic()
        try:
            keep(name, part())
        except Exception as problem:  # one part that fails must not cost the others
            keep(name, {"failed": repr(problem)})
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


main()
