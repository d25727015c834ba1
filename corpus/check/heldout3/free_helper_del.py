"""Two-stage pipeline: segment with SAM, then caption the crops. Meant to fit in 16 GB."""
import gc

import torch
from PIL import Image
from segment_anything import SamAutomaticMaskGenerator, sam_model_registry
from transformers import Blip2ForConditionalGeneration, Blip2Processor


def unload(model):
    """Drops a model from the GPU."""
    del model
    gc.collect()
    torch.cuda.empty_cache()


def crops(image, masks):
    for m in masks:
        x, y, w, h = map(int, m["bbox"])
        if w * h > 1024:
            yield image.crop((x, y, x + w, y + h))


def run(path):
    import numpy as np

    image = Image.open(path).convert("RGB")
    sam = sam_model_registry["vit_h"](checkpoint="sam_vit_h.pth").cuda()
    masks = SamAutomaticMaskGenerator(sam).generate(np.asarray(image))
    unload(sam)

    proc = Blip2Processor.from_pretrained("Salesforce/blip2-opt-2.7b")
    blip = Blip2ForConditionalGeneration.from_pretrained("Salesforce/blip2-opt-2.7b", dtype=torch.float16).cuda()
    texts = []
    for crop in crops(image, masks):
        inputs = proc(crop, return_tensors="pt").to("cuda", torch.float16)
        out = blip.generate(**inputs, max_new_tokens=30)
        texts.append(proc.decode(out[0], skip_special_tokens=True))
    return texts


if __name__ == "__main__":
    import sys

    print("\n".join(run(sys.argv[1])))
