"""Plain SFT loop, no Trainer."""
import json
import os

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

cfg = json.loads(os.environ.get("SFT_CFG", '{"model": "mistralai/Mistral-7B-v0.1", "micro": 1, "accum": 32, "lr": 1e-5}'))


def encode(tok, rows, max_len=2048):
    def collate(batch):
        enc = tok([r["prompt"] + r["answer"] for r in batch], return_tensors="pt", padding=True,
                  truncation=True, max_length=max_len)
        enc["labels"] = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
        return enc
    return DataLoader(rows, cfg["micro"], shuffle=True, collate_fn=collate)


def main():
    tok = AutoTokenizer.from_pretrained(cfg["model"])
    tok.pad_token = tok.eos_token
    model = AutoModelForCausalLM.from_pretrained(cfg["model"]).cuda()
    model.gradient_checkpointing_enable()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    rows = [json.loads(l) for l in open("sft.jsonl")]
    loader = encode(tok, rows)
    model.train()
    for epoch in range(3):
        for step, batch in enumerate(loader, start=1):
            model.zero_grad()
            batch = {k: v.cuda() for k, v in batch.items()}
            loss = model(**batch).loss
            (loss / cfg["accum"]).backward()
            if step % cfg["accum"] == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
            if step % 10 == 0:
                print(epoch, step, loss.item())
        model.save_pretrained(f"sft-{epoch}")


if __name__ == "__main__":
    main()
