import torch
from fastapi import FastAPI
from torchvision.models import convnext_base

app = FastAPI()
state = torch.load("convnext.pt", map_location="cuda:0")
model = convnext_base(num_classes=200)
model.to("cuda:0")
model.load_state_dict(state)
model.eval()


@app.post("/predict")
def predict(pixels: list):
    x = torch.tensor(pixels, dtype=torch.float32, device="cuda:0")
    with torch.inference_mode():
        return model(x).argmax(1).tolist()
