"""FastAPI service for image captions. One GPU, one worker."""
import io
import logging

import torch
from fastapi import FastAPI, UploadFile
from PIL import Image
from transformers import BlipForConditionalGeneration, BlipProcessor

log = logging.getLogger("caption")
app = FastAPI()
proc = BlipProcessor.from_pretrained("Salesforce/blip-image-captioning-large")
net = BlipForConditionalGeneration.from_pretrained("Salesforce/blip-image-captioning-large").to("cuda").eval()

SEEN: dict[str, torch.Tensor] = {}


@app.post("/embed")
def embed(file: UploadFile):
    raw = Image.open(io.BytesIO(file.file.read())).convert("RGB")
    px = proc(images=raw, return_tensors="pt").pixel_values.to("cuda")
    vec = net.vision_model(px).pooler_output
    SEEN[file.filename] = vec
    return {"norm": vec.norm().item(), "known": len(SEEN)}


@app.post("/caption")
def caption(file: UploadFile):
    raw = Image.open(io.BytesIO(file.file.read())).convert("RGB")
    inputs = proc(images=raw, return_tensors="pt").to("cuda")
    try:
        ids = net.generate(**inputs, num_beams=8, max_new_tokens=60)
    except torch.OutOfMemoryError:
        log.warning("oom, trying with greedy search")
        ids = net.generate(**inputs, num_beams=1, max_new_tokens=30)
    return {"text": proc.decode(ids[0], skip_special_tokens=True)}
