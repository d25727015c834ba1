import torch
from fastapi import FastAPI
from pydantic import BaseModel
from transformers import AutoModel, AutoTokenizer

torch.set_grad_enabled(False)  # a call of its own switches it off; the handler has inference_mode besides

app = FastAPI()
tok = AutoTokenizer.from_pretrained("intfloat/e5-small-v2")


class Query(BaseModel):
    texts: list[str]


class Embedder:
    def __init__(self, name):
        self.net = AutoModel.from_pretrained(name, torch_dtype=torch.float16).to("cuda").eval()

    @torch.inference_mode()
    def __call__(self, texts):
        enc = tok(texts, padding=True, truncation=True, return_tensors="pt").to("cuda")
        h = self.net(**enc).last_hidden_state
        m = enc["attention_mask"].unsqueeze(-1)
        return ((h * m).sum(1) / m.sum(1)).float().cpu().tolist()


embedder = None


@app.post("/embed")
def embed(q: Query):
    global embedder
    if embedder is None:
        embedder = Embedder("intfloat/e5-small-v2")
    return {"vectors": embedder(q.texts)}
