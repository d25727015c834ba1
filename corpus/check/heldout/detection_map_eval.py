import time

import torch
from torchvision.models.detection import fasterrcnn_resnet50_fpn

from coco_eval import CocoEvaluator


class Detector:
    def __init__(self, classes):
        self.model = fasterrcnn_resnet50_fpn(num_classes=classes).cuda()

    def evaluate(self, data_loader, coco):
        self.model.eval()
        evaluator = CocoEvaluator(coco, ["bbox"])
        spent = 0.0
        for images, targets in data_loader:
            images = [img.cuda() for img in images]
            t0 = time.time()
            outputs = self.model(images)
            spent += time.time() - t0
            outputs = [{k: v.cpu() for k, v in o.items()} for o in outputs]
            evaluator.update({t["image_id"]: o for t, o in zip(targets, outputs)})
        evaluator.accumulate()
        print(f"{spent:.1f} s")
        return evaluator.summarize()
