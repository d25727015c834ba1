import torch

def sweep(grid, train):
    failures = []
    for config in grid:
        try:
            train(config)
        except Exception as error:
            failures.append((config, error))  # <-
        torch.cuda.empty_cache()
    return failures
# ---
import torch

def folds(splits, fit_fold):
    broken = {}
    for index, split in enumerate(splits):
        try:
            fit_fold(split)
        except RuntimeError as reason:
            broken[index] = reason  # <-
            torch.cuda.empty_cache()
    return broken
# ---
from dataclasses import dataclass
import torch
@dataclass
class Outcome:
    params: dict
    error: BaseException | None = None
def search(grid, objective):
    outcomes = []
    for params in grid:
        try:
            outcomes.append(Outcome(params, objective(params)))
        except (torch.OutOfMemoryError, ValueError) as err:
            outcomes.append(Outcome(params, error=err))  # <-
    return outcomes
# ---
import torch
class Failed:
    def __init__(self, step, reason):
        self.step = step
        self.reason = reason
class Worker:
    def __init__(self, model):
        self.model, self.last = model, None
    def run(self, step, batch):
        try:
            return self.model(batch)
        except torch.cuda.OutOfMemoryError as e:
            self.last = Failed(step, e)  # <-
# ---
import torch
def sweep(sizes, model):
    log = {}
    for size in sizes:
        try:
            model(torch.zeros(size, 8, device="cuda"))
        except torch.OutOfMemoryError as e:
            log[size] = dict(kind="oom", error=e)  # <-
    return log
# ---
import torch
def bench(configs, run):
    rows = []
    for config in configs:
        try:
            rows.append({"config": config, "time": run(config)})
        except torch.cuda.OutOfMemoryError as e:
            rows.append({"config": config, "error": e})  # <-
    return rows
