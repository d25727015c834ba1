import argparse

import torch

from shop import DLRM


def warm_start(model, path, skip=("emb_l.3",)):
    old = torch.load(path, weights_only=True)
    keep = {k: v for k, v in old.items() if not k.startswith(skip)}
    missing, _ = model.load_state_dict(keep, strict=False)
    print("fresh:", missing)
    return model


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--prev", required=True)
    a = p.parse_args()
    net = warm_start(DLRM().cuda(), a.prev)
    torch.save(net.state_dict(), "warm.pt")
