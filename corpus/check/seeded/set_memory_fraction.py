import argparse

import torch


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--frac", type=float, default=0.5)
    return p.parse_args()


def main():
    args = parse()
    torch.cuda.set_memory_fraction(args.frac, device=0)
    model = torch.nn.Linear(4096, 4096).cuda()
    print(sum(p.numel() for p in model.parameters()))


if __name__ == "__main__":
    main()
