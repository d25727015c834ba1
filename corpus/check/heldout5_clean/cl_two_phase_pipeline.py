"""Detector first, recogniser after: one clean-up between the two."""
import gc

import torch

from ocr.models import build_detector, build_recogniser
from ocr.io import pages, crops, write


@torch.inference_mode()
def detect(paths):
    net = build_detector().cuda().eval()
    boxes = {}
    for name, img in pages(paths):
        boxes[name] = net(img.cuda()).cpu()
    return boxes


@torch.inference_mode()
def read(paths, boxes):
    net = build_recogniser().cuda().eval()
    for name, img in pages(paths):
        for crop in crops(img, boxes[name]):
            write(name, net(crop.cuda()).argmax(-1).tolist())


def main(paths):
    boxes = detect(paths)
    gc.collect()
    torch.cuda.empty_cache()
    read(paths, boxes)
