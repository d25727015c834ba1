import os

import torch


def main(trainer):
    if os.environ.get("DEBUG_MEM"):
        torch.cuda.memory._record_memory_history()
    for epoch in range(trainer.epochs):
        trainer.train_epoch(epoch)
    torch.cuda.memory._dump_snapshot("mem.pickle")
