import datetime
import os

import torch
from train_lib import Job


def enable_snapshots():
    if int(os.environ.get("RANK", 0)) == 0:
        torch.cuda.memory._record_memory_history()


def dump(tag):
    if int(os.environ.get("RANK", 0)) == 0:
        name = f"{datetime.datetime.now():%m%d-%H%M}-{tag}.pickle"
        torch.cuda.memory._dump_snapshot(name)


def main():
    enable_snapshots()
    job = Job.from_env()
    for epoch in range(job.epochs):
        torch.cuda.reset_max_memory_allocated()
        job.run_epoch(epoch)
        print(epoch, torch.cuda.max_memory_allocated() >> 20)
    dump("end")


if __name__ == "__main__":
    main()
