import glob
import os

from torch import load, save


def average(folder, out):
    """Mean of the last five checkpoints."""
    files = sorted(glob.glob(os.path.join(folder, "*.pt")))[-5:]
    mean = None
    for f in files:
        state = load(f, weights_only=True)["state_dict"]
        if mean is None:
            mean = {k: v.double() for k, v in state.items()}
        else:
            for k, v in state.items():
                mean[k] += v.double()
    save({k: (v / len(files)).float() for k, v in mean.items()}, out)


average("runs/a", "mean.pt")
