import os

import pandas as pd
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_cosine_schedule_with_warmup

CFG = dict(name="microsoft/deberta-v3-large", maxlen=1024, bs=2, accum=8, epochs=3, lr=1e-5)
tok = AutoTokenizer.from_pretrained(CFG["name"])
df = pd.read_csv("essays.csv")


def collate(items):
    enc = tok([t for t, _ in items], truncation=True, max_length=CFG["maxlen"], padding=True, return_tensors="pt")
    enc["labels"] = torch.tensor([float(s) for _, s in items])
    return enc


dl = DataLoader(list(zip(df.text, df.score)), CFG["bs"], shuffle=True, collate_fn=collate)
model = AutoModelForSequenceClassification.from_pretrained(CFG["name"], num_labels=1).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=CFG["lr"])
total = len(dl) // CFG["accum"] * CFG["epochs"]
sched = get_cosine_schedule_with_warmup(opt, total // 10, total)

for ep in range(CFG["epochs"]):
    model.train()
    for n, batch in enumerate(dl, start=1):
        batch = {k: v.cuda() for k, v in batch.items()}
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(**batch).loss / CFG["accum"]
        loss.backward()
        if n % CFG["accum"]:
            continue
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
    os.makedirs("out", exist_ok=True)
    torch.save(model.state_dict(), f"out/ep{ep}.pt")
