import io

import torch
from fastapi import FastAPI, UploadFile
from PIL import Image
from transformers import BlipForImageTextRetrieval, BlipProcessor

app = FastAPI()
processor = BlipProcessor.from_pretrained("Salesforce/blip-itm-base-coco")
model = BlipForImageTextRetrieval.from_pretrained("Salesforce/blip-itm-base-coco").to("cuda")
model.eval()  # no gradients from here on


@app.post("/match")
async def match(image: UploadFile, text: str):
    img = Image.open(io.BytesIO(await image.read())).convert("RGB")
    inputs = processor(img, text, return_tensors="pt").to("cuda")
    score = model(**inputs).itm_score
    return {"match": score.softmax(-1)[0, 1].item()}
