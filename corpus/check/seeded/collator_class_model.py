import torch
from transformers import AutoModel, AutoTokenizer


class EmbeddingCollator:
    """Embeds the text while batching."""

    def __init__(self, name):
        self.tok = AutoTokenizer.from_pretrained(name)

    def __call__(self, rows):
        enc = self.tok([r["text"] for r in rows], padding=True, return_tensors="pt")
        y = torch.tensor([r["y"] for r in rows])
        return {k: v.to("cuda") for k, v in enc.items()} | {"y": y}


def make_loader(rows):
    return torch.utils.data.DataLoader(rows, 32, collate_fn=EmbeddingCollator("bert-base-uncased"), num_workers=2)
