import io
import os

import torch
import uvicorn
from fastapi import FastAPI, File, UploadFile
from PIL import Image
from torchvision import transforms

from modeling import DefectNet

app = FastAPI(title="defect-classifier")
LABELS = ["ok", "scratch", "dent", "stain"]
prep = transforms.Compose([transforms.Resize((512, 512)), transforms.ToTensor()])
state = {}


@app.on_event("startup")
def load_model():
    net = DefectNet(len(LABELS))
    net.load_state_dict(torch.load(os.environ.get("WEIGHTS", "/models/defect.pt")))
    net.to(os.environ.get("DEVICE", "cuda:1"))
    net.eval()
    state["net"] = net


@app.post("/predict")
async def predict(file: UploadFile = File(...)):
    img = Image.open(io.BytesIO(await file.read())).convert("RGB")
    net = state["net"]
    x = prep(img).unsqueeze(0).to(next(net.parameters()).device)
    probs = torch.softmax(net(x), dim=1)[0]
    k = int(probs.argmax())
    return {"label": LABELS[k], "score": float(probs[k])}


@app.get("/healthz")
def health():
    return {"ok": "net" in state, "mem": torch.cuda.memory_allocated()}


if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=8080)
