import sys

import torch

from job import run_trial


def sweep(configs):
    crashes = []
    for cfg in configs:
        try:
            score = run_trial(cfg)
            print(cfg, score)
        except RuntimeError:
            crashes.append((cfg, sys.exc_info()))
            torch.cuda.empty_cache()
    for cfg, info in crashes:
        print("failed:", cfg, info[1])
