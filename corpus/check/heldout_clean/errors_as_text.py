import logging

import torch

log = logging.getLogger(__name__)


def sweep(grid, run):
    failed = {}
    for cfg in grid:
        try:
            run(cfg)
        except torch.OutOfMemoryError as exc:
            failed[cfg.name] = str(exc)
            log.exception("%s did not fit", cfg.name)
        torch.cuda.empty_cache()
    return failed
