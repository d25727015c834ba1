import argparse
import json

import torch

from data import get_loader
from net import Detector, nms


class Evaluator:
    def __init__(self, weights, device):
        self.device = device
        self.net = Detector()
        self.net.load_state_dict(torch.load(weights, map_location="cpu"))
        self.net.to(device).eval()

    def run(self, loader):
        results = []
        for ids, images in loader:
            boxes, scores = self.net(images.to(self.device))
            for i, b, s in zip(ids, boxes, scores):
                keep = nms(b, s)
                results.append({"id": int(i), "boxes": b[keep].tolist(), "scores": s[keep].tolist()})
        return results


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--weights")
    a = ap.parse_args()
    json.dump(Evaluator(a.weights, "cuda").run(get_loader("val")), open("out.json", "w"))
