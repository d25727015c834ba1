import sys

import torch

from nets import Small


def main(path, to):
    net = Small()
    net.load_state_dict(torch.load(path, map_location="cpu"))
    torch.save(net.embed.state_dict(), f"{to}/embed")


main(*sys.argv[1:])
