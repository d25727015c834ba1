import argparse
import os

import torch
from transformers import AutoModelForCausalLM


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("model")
    ap.add_argument("--expandable", action="store_true")
    return ap.parse_args()


def main():
    args = parse()
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype="auto").to("cuda")
    if args.expandable:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    ids = torch.randint(1000, (1, 512), device="cuda")
    with torch.no_grad():
        print(model(ids).logits.shape)


if __name__ == "__main__":
    main()
