import gc

import torch

from unets import SmallNet, BigNet, fit, predict_to_disk


def phase_one(root):
    net = SmallNet().cuda()
    fit(net, f"{root}/coarse", epochs=10)
    predict_to_disk(net, f"{root}/coarse_pred")
    torch.save({k: v.cpu() for k, v in net.state_dict().items()}, f"{root}/small.pt")


def phase_two(root):
    net = BigNet().cuda()
    fit(net, f"{root}/fine", epochs=40)
    torch.save({k: v.cpu() for k, v in net.state_dict().items()}, f"{root}/big.pt")


def main(root):
    phase_one(root)
    # the shapes of the second phase have nothing in common with the first: give the segments back once
    gc.collect()
    torch.cuda.empty_cache()
    phase_two(root)


if __name__ == "__main__":
    import sys

    main(sys.argv[1])
