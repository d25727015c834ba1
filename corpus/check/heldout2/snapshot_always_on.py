import os

import torch
from torch.cuda.memory import _record_memory_history, _dump_snapshot


def main(cfg, trainer):
    if int(os.environ.get("RANK", 0)) == 0:
        _record_memory_history(enabled="all")
    try:
        for epoch in range(cfg.epochs):
            trainer.train_epoch(epoch)
            trainer.save(epoch)
    except torch.OutOfMemoryError:
        _dump_snapshot("oom.pickle")
        raise
