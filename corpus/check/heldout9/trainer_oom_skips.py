"""Long-document classifier; some documents are too long for the card and are skipped."""
import json
import logging

import torch
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, LongformerForSequenceClassification

log = logging.getLogger("long")


class LongRunner:
    def __init__(self, name="allenai/longformer-base-4096"):
        self.tok = AutoTokenizer.from_pretrained(name)
        self.net = LongformerForSequenceClassification.from_pretrained(name, num_labels=8).cuda()
        self.opt = torch.optim.AdamW(self.net.parameters(), 2e-5)

    def collate(self, rows):
        enc = self.tok([r["text"] for r in rows], padding=True, truncation=True, max_length=4096, return_tensors="pt")
        enc["labels"] = torch.tensor([r["label"] for r in rows])
        return enc

    def step(self, batch):
        loss = self.net(**batch.to("cuda")).loss
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
        return loss.item()

    def epoch(self, rows):
        for k, batch in enumerate(DataLoader(rows, 8, shuffle=True, collate_fn=self.collate)):
            try:
                value = self.step(batch)
            except RuntimeError as boom:
                if "out of memory" in str(boom).lower():
                    log.warning("batch %d is too big, skipped", k)
                    self.opt.zero_grad()
                    continue
                raise
            if k % 50 == 0:
                log.info("%d %.3f", k, value)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    rows = [json.loads(x) for x in open("docs.jsonl")]
    r = LongRunner()
    for _ in range(3):
        r.epoch(rows)
