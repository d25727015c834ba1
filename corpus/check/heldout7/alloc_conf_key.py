"""kohya-like launcher for my card (8 GB)"""
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size:128,garbage_collection_threshold:0.8"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import argparse
import runpy
import sys


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--dataset", required=True)
    p.add_argument("--rank", type=int, default=4)
    p.add_argument("--resolution", type=int, default=512)
    p.add_argument("--steps", type=int, default=1500)
    return p.parse_args()


def main():
    a = parse()
    sys.argv = [
        "train_network.py", "--train_data_dir", a.dataset, "--network_dim", str(a.rank),
        "--resolution", str(a.resolution), "--max_train_steps", str(a.steps), "--mixed_precision", "fp16",
    ]
    runpy.run_path("train_network.py", run_name="__main__")


if __name__ == "__main__":
    main()
