import gc

import torch


def free():
    gc.collect()
    torch.empty_cache()


def main(scenes, render):
    for s in scenes:
        render(s)
        free()
