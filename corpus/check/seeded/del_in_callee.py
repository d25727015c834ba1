import gc

import torch


def unload(model):
    model.to("cpu")
    del model
    gc.collect()
    torch.cuda.empty_cache()


def pipeline(detector, captioner, images):
    with torch.no_grad():
        boxes = [detector(i.cuda()) for i in images]
    unload(detector)
    with torch.no_grad():
        return [captioner(i.cuda(), b) for i, b in zip(images, boxes)]
