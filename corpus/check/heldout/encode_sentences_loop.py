import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer


class Encoder:
    def __init__(self, name="intfloat/e5-base", device="cuda"):
        self.tok = AutoTokenizer.from_pretrained(name)
        self.net = AutoModel.from_pretrained(name).to(device).eval()
        self.device = device

    @torch.inference_mode()
    def encode(self, texts, batch_size=64):
        rows = []
        start = 0
        while start < len(texts):
            enc = self.tok(texts[start:start + batch_size], padding=True, truncation=True, return_tensors="pt")
            hidden = self.net(**enc.to(self.device)).last_hidden_state
            mask = enc["attention_mask"].unsqueeze(-1)
            rows.append(((hidden * mask).sum(1) / mask.sum(1)).cpu().numpy())
            del enc, hidden, mask
            torch.cuda.empty_cache()
            start += batch_size
        return np.concatenate(rows)
