import gc

import torch


def sweep(grid, train):
    failures, scores = [], {}
    for cfg in grid:
        try:
            scores[cfg.name] = train(cfg)
        except Exception as exc:
            failures.append((cfg.name, exc))
        gc.collect()
        torch.cuda.empty_cache()
    for name, exc in failures:
        print(name, type(exc).__name__, exc)
    return scores
