"""Plans of `--fit`, run for real: fit.py plan FOLDER, anywhere; fit.py run FOLDER OUT.json, on a machine with an H200.

Each job of fit_jobs.py is planned for a card that has room for the limit, then run plainly, and with its plan under that
limit. Compared: peak against promise, median step against predicted slowdown, the curves of the losses, and where people
know what to do by hand, the time of that.
"""

import argparse
import concurrent.futures
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
GIB = 1 << 30
#: What a CUDA context takes of this card besides PyTorch's limit.
CONTEXT_BYTES = 649068544
#: Job, limit in GiB, steps.
CASES = [
    ("gpt2", 3.25, 50), ("gpt2", 8, 50), ("gpt2_dropout", 8, 50), ("llama", 12, 20), ("lora", 16, 20), ("t5", 12, 50),
    ("bert", 8, 50), ("resnet50", 12, 50), ("resnet50", 24, 50), ("convnext", 8, 50), ("vit", 8, 50), ("denoiser", 8, 50),
    ("contrastive", 8, 50), ("kept_outputs", 4, 10000),
]
#: Plain runs that would fill the card stop earlier.
PLAIN_STEPS = {"kept_outputs": 200}
BY_HAND = ("gpt2", "bert", "vit", "t5", "denoiser")
#: Jobs whose losses are also compared with those of a run that differs by rounding alone.
PERMUTED = ("gpt2", "t5")
WARM_UP = 5
STARTING_AT_ONCE = 3


def words(job, steps, *more):
    return [str(HERE / "fit_jobs.py"), job, "--steps", str(steps), *more]


def plan(folder, job, limit, steps):
    """Writes the plan of a job to the folder; returns how it went."""
    file = folder / f"{job}_{limit:g}.plan.json"
    memory = int(limit * GIB) + CONTEXT_BYTES
    options = ["--fit", "--gpu", "h200", "--memory", str(memory), "--save-plan", str(file), "--python", sys.executable]
    start = time.monotonic()
    done = subprocess.run([OOMPH, "plan", *options, *words(job, steps)], capture_output=True, text=True)
    return {"code": done.returncode, "seconds": time.monotonic() - start, "told": done.stdout[-4000:], "problem": done.stderr[-600:]}


def train(job, steps, *more, start=(sys.executable,), lock=""):
    """What a job prints, and the end of what was said of it."""
    environment = {**os.environ, "ONCARD_LOCK": lock}
    done = subprocess.run([*start, *words(job, steps, *more)], capture_output=True, text=True, env=environment)
    told = done.stdout.strip().splitlines()
    found = json.loads(told[-1]) if done.returncode == 0 and told else {}
    return {**found, "code": done.returncode, "stderr": done.stderr[-2500:]}


def fitted(folder, job, limit, steps, lock):
    """The same with its plan, under the limit."""
    with tempfile.TemporaryDirectory() as scratch:
        account = pathlib.Path(scratch, "account.json")
        start = [OOMPH, "run", "--python", sys.executable, "--json", str(account), "--limit", str(int(limit * GIB))]
        file = folder / f"{job}_{limit:g}.plan.json"
        found = train(job, steps, start=[*start, "--plan", str(file)], lock=lock)
        found["account"] = json.loads(account.read_text()) if account.exists() else None
        found["plan"] = json.loads(file.read_text())
    return found


def median_ms(run):
    return statistics.median(run["times_ms"][WARM_UP:])


def loss_off(one, other):
    """How far two curves of losses are apart at most, as a part of them."""
    return max(abs(a - b) / max(abs(a), 1e-9) for a, b in zip(one["losses"], other["losses"]))


def compared(plain, run, hand, permuted):
    """The figures that were asked for."""
    promise = run["plan"]
    found = {"remedies": [choice["name"] for choice in promise.get("remedies", [])], "allocator": promise.get("allocator")}
    found["promised_slowdown"] = promise.get("slowdown_percent", 100) / 100
    if run["code"] != 0 or plain["code"] != 0:
        return {**found, "failed": [plain["code"], run["code"]], "stderr": run["stderr"]}
    promised = promise["trials"][0]["peaks"][0]
    for kind in ("allocated", "reserved"):
        found[f"{kind}_bytes"] = run["peaks"][kind]
        found[f"{kind}_off"] = run["peaks"][kind] / promised[f"{kind}_bytes"] - 1
    found |= {"plain_ms": median_ms(plain), "fitted_ms": median_ms(run)}
    found["slowdown"] = found["fitted_ms"] / found["plain_ms"]
    found["loss_off_max"] = loss_off(plain, run)
    found["last_losses"] = plain["losses"][-1], run["losses"][-1]
    if permuted is not None and permuted["code"] == 0:
        found["loss_off_max_permuted"] = loss_off(plain, permuted)
    if hand is not None and hand["code"] == 0:
        found |= {"hand_ms": median_ms(hand), "hand_peaks": hand["peaks"], "against_hand": median_ms(hand) / found["fitted_ms"]}
    return found


def run_all(folder, out, only):
    found = {}
    with tempfile.NamedTemporaryFile() as lock, concurrent.futures.ThreadPoolExecutor(STARTING_AT_ONCE) as pool:
        cases = [case for case in CASES if (folder / f"{case[0]}_{case[1]:g}.plan.json").exists()]
        cases = [case for case in cases if not only or case[0] in only]
        plain, runs, hands, others = {}, {}, {}, {}
        # Case by case: what the first ones need is not behind what the last ones need.
        for job, limit, steps in cases:
            if job not in plain:
                plain[job] = pool.submit(train, job, PLAIN_STEPS.get(job, steps), lock=lock.name)
            runs[job, limit, steps] = pool.submit(fitted, folder, job, limit, steps, lock.name)
            if job in BY_HAND and job not in hands:
                hands[job] = pool.submit(train, job, 20, "--hand", lock=lock.name)
            if job in PERMUTED and job not in others:
                others[job] = pool.submit(train, job, steps, "--permuted", lock=lock.name)
        for (job, limit, steps), run in runs.items():
            hand, permuted = hands.get(job), others.get(job)
            # The list is kept as it grows: device time may end.
            try:
                case = compared(plain[job].result(), run.result(), hand and hand.result(), permuted and permuted.result())
            except Exception as problem:  # one case that fails must not cost the others
                case = {"failed": repr(problem)}
            found[f"{job} {limit:g} GiB"] = case
            out.write_text(json.dumps(found, indent=1))
            print(f"{job} {limit:g} GiB: " + json.dumps({k: v for k, v in case.items() if k != "stderr"})[:400], flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["plan", "run"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    wanted = parser.parse_args()
    wanted.folder.mkdir(parents=True, exist_ok=True)
    if wanted.what == "run":
        return run_all(wanted.folder, wanted.out, wanted.only)
    cases = [case for case in CASES if not wanted.only or case[0] in wanted.only]
    with concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        for case, told in zip(cases, pool.map(lambda case: plan(wanted.folder, *case), cases)):
            (wanted.folder / f"{case[0]}_{case[1]:g}.told.json").write_text(json.dumps(told, indent=1))
            print(case[0], f"{case[1]:g} GiB: code {told['code']}, {told['seconds']:.0f} s", told["told"].splitlines()[:1], flush=True)


main()
