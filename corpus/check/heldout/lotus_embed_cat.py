import torch
from transformers import AutoModel, AutoTokenizer


class Retriever:
    def __init__(self, name="intfloat/e5-large-v2"):
        self.tok = AutoTokenizer.from_pretrained(name)
        self.model = AutoModel.from_pretrained(name).cuda().eval()

    @torch.no_grad()
    def index(self, docs, batch=32):
        table = torch.empty(0, 1024, device="cuda")
        for i in range(0, len(docs), batch):
            enc = self.tok(docs[i:i + batch], padding=True, truncation=True, return_tensors="pt").to("cuda")
            vec = self.model(**enc).last_hidden_state[:, 0]
            table = torch.cat([table, vec], dim=0)
        return table
