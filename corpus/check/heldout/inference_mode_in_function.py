from fastapi import FastAPI
import torch
from torchvision.models import ResNet50_Weights, resnet50

app = FastAPI()
weights = ResNet50_Weights.DEFAULT
model = resnet50(weights=weights).eval()
preprocess = weights.transforms()


def classify(batch):
    torch.inference_mode()
    logits = model(batch)
    scores, idx = logits.softmax(-1).topk(5)
    return [
        {weights.meta["categories"][int(i)]: float(s) for s, i in zip(row_s, row_i)}
        for row_s, row_i in zip(scores, idx)
    ]


@app.post("/classify")
def endpoint(pixels: list[list[list[list[float]]]]):
    return classify(preprocess(torch.tensor(pixels)))
