"""Batch generation for the summary queue; long prompts come in bursts."""
from typing import Sequence

import torch


class Generator:
    def __init__(self, model, tok, max_batch: int = 16):
        self.model, self.tok, self.max_batch = model, tok, max_batch

    @torch.inference_mode()
    def _gen(self, prompts: Sequence[str], **kw) -> list[str]:
        enc = self.tok(list(prompts), return_tensors="pt", padding=True).to(self.model.device)
        out = self.model.generate(**enc, **kw)
        return self.tok.batch_decode(out, skip_special_tokens=True)

    def __call__(self, prompts: Sequence[str], **kw) -> list[str]:
        try:
            return self._gen(prompts, **kw)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            mid = len(prompts) // 2
            return self(prompts[:mid], **kw) + self(prompts[mid:], **kw)


def drain(gen: Generator, rows: list[dict], **kw) -> None:
    for at in range(0, len(rows), gen.max_batch):
        part = rows[at:at + gen.max_batch]
        for row, text in zip(part, gen([r["prompt"] for r in part], **kw)):
            row["summary"] = text
