import argparse
import json

import torch

from nets import load_net
from data import images_in


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("folder")
    args = ap.parse_args()
    net = load_net().cuda()
    net.eval
    torch.no_grad()
    results = {}
    for name, img in images_in(args.folder):
        results[name] = net(img[None].cuda()).argmax(1).item()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
