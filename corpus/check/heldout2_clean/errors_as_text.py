import logging

import torch

log = logging.getLogger(__name__)


def sweep(trials, run):
    failures = {}
    for name, cfg in trials.items():
        try:
            run(cfg)
        except torch.OutOfMemoryError as e:
            log.exception("trial %s", name)
            failures[name] = str(e)
    return failures
