"""Plain-loop supervised fine-tuning. No Trainer, so that I can see what happens."""
import argparse
import json

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

p = argparse.ArgumentParser()
p.add_argument("--base", default="Qwen/Qwen2.5-0.5B")
p.add_argument("--data", default="chat.jsonl")
p.add_argument("--ga", type=int, default=16)
args = p.parse_args()

tok = AutoTokenizer.from_pretrained(args.base)
tok.pad_token = tok.eos_token
model = AutoModelForCausalLM.from_pretrained(args.base, torch_dtype=torch.float32, use_cache=False).cuda()
model.gradient_checkpointing_enable()
model.train()
rows = [json.loads(x)["text"] for x in open(args.data)]


def collate(texts):
    enc = tok(texts, return_tensors="pt", padding=True, truncation=True, max_length=2048)
    enc["labels"] = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
    return enc


loader = DataLoader(rows, batch_size=1, shuffle=True, collate_fn=collate)
opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
scaler = torch.amp.GradScaler("cuda")

for epoch in range(2):
    for i, batch in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(**batch.to("cuda")).loss / args.ga
        scaler.scale(loss).backward()
        if (i + 1) % args.ga == 0:
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
            print(i, loss.item() * args.ga)
    model.save_pretrained(f"ckpt-{epoch}")
