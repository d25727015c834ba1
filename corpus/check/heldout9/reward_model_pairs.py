"""Bradley-Terry reward model on preference pairs, accumulating over chunks of one big batch."""
import json
from typing import Iterator

import torch
import torch.nn.functional as F
from transformers import AutoModelForSequenceClassification, AutoTokenizer

NAME = "Qwen/Qwen2.5-1.5B"


def batches(path: str, size: int) -> Iterator[list[dict]]:
    rows = [json.loads(x) for x in open(path)]
    for i in range(0, len(rows), size):
        yield rows[i:i + size]


def rewards(model, tok, texts):
    enc = tok(texts, return_tensors="pt", padding=True, truncation=True, max_length=1024).to("cuda")
    return model(**enc).logits.squeeze(-1)


def main():
    tok = AutoTokenizer.from_pretrained(NAME)
    model = AutoModelForSequenceClassification.from_pretrained(NAME, num_labels=1, torch_dtype=torch.bfloat16).cuda()
    model.config.pad_token_id = tok.pad_token_id
    opt = torch.optim.AdamW(model.parameters(), lr=5e-6)
    for n, rows in enumerate(batches("pairs.jsonl", 64)):
        # micro batches of 4, effective batch 64
        parts = []
        for k in range(0, len(rows), 4):
            piece = rows[k:k + 4]
            good = rewards(model, tok, [r["chosen"] for r in piece])
            bad = rewards(model, tok, [r["rejected"] for r in piece])
            parts.append(-F.logsigmoid(good - bad).mean())
        loss = torch.stack(parts).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(n, loss.item())


if __name__ == "__main__":
    main()
