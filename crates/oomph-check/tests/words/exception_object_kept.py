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
