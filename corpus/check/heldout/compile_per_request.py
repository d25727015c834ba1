import torch
from fastapi import FastAPI

from nets import load_model

app = FastAPI()
model = load_model("best.pt").cuda().eval()


@app.post("/predict")
def predict(rows: list[list[float]]):
    fast = torch.compile(model)
    with torch.inference_mode():
        return fast(torch.tensor(rows, device="cuda")).tolist()
