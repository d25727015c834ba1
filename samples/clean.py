"""Nothing to say about this."""

import torch


def release():
    torch.cuda.empty_cache()
