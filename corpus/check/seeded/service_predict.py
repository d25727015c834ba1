import io

import torch
from fastapi import FastAPI, File
from PIL import Image
from torchvision import transforms
from torchvision.models import efficientnet_b4

app = FastAPI()
net = efficientnet_b4(weights="DEFAULT")
net.to("cuda")
net.eval()
tf = transforms.Compose([transforms.Resize(380), transforms.CenterCrop(380), transforms.ToTensor()])


@app.post("/predict")
async def predict(file: bytes = File()):
    img = tf(Image.open(io.BytesIO(file)).convert("RGB")).unsqueeze(0).to("cuda")
    logits = net(img)
    prob = torch.softmax(logits, 1)[0].tolist()
    return {"class": max(range(len(prob)), key=prob.__getitem__), "p": max(prob)}
