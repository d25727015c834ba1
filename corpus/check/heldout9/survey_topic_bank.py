"""Groups open survey answers: encodes them, keeps a bank of vectors, then k-means."""
from __future__ import annotations

import csv
import sys

import torch
from transformers import AutoModel, AutoTokenizer


class Bank:
    def __init__(self, dim: int, device: str = "cuda"):
        self.rows = torch.zeros(0, dim, device=device)

    def extend(self, new: torch.Tensor) -> None:
        self.rows = torch.vstack([self.rows, new])

    def kmeans(self, k: int, rounds: int = 25) -> torch.Tensor:
        centre = self.rows[torch.randperm(len(self.rows), device=self.rows.device)[:k]]
        for _ in range(rounds):
            owner = torch.cdist(self.rows, centre).argmin(1)
            centre = torch.stack([self.rows[owner == j].mean(0) if (owner == j).any() else centre[j] for j in range(k)])
        return owner


@torch.inference_mode()
def main(path: str) -> None:
    tok = AutoTokenizer.from_pretrained("intfloat/e5-large-v2")
    net = AutoModel.from_pretrained("intfloat/e5-large-v2").cuda().eval()
    texts = [row[0] for row in csv.reader(open(path))]
    bank = Bank(1024)
    for s in range(0, len(texts), 64):
        enc = tok(texts[s:s + 64], padding=True, truncation=True, return_tensors="pt").to("cuda")
        bank.extend(net(**enc).last_hidden_state.mean(1))
    for text, topic in zip(texts, bank.kmeans(40).tolist()):
        print(topic, text, sep="\t")


if __name__ == "__main__":
    main(sys.argv[1])
