import torch
from fastapi import FastAPI

app = FastAPI()
net = torch.hub.load("pytorch/vision", "resnet50", weights="DEFAULT").eval()


@app.post("/predict")
@torch.inference_mode()
def predict(pixels: list[list[list[float]]]):
    fast = torch.compile(net.cuda(), mode="reduce-overhead")
    x = torch.tensor(pixels, dtype=torch.float32)[None].cuda()
    return {"class": fast(x).argmax(1).item()}
