"""Started inside every trainer pod: memory history on, dump on SIGUSR1."""
import os
import signal
import socket
import time

import torch

DUMP_DIR = os.environ.get("DUMP_DIR", "/var/dumps")


def _dump(signum, frame):
    path = f"{DUMP_DIR}/{socket.gethostname()}_{int(time.time())}.pickle"
    torch.cuda.memory._dump_snapshot(path)
    print("wrote", path, flush=True)


def install():
    torch.cuda.memory._record_memory_history()
    signal.signal(signal.SIGUSR1, _dump)


def main():
    import importlib
    import sys

    install()
    module = importlib.import_module(sys.argv[1])
    module.main(sys.argv[2:])


if __name__ == "__main__":
    main()
