import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from msmarco import PairSet

name = "microsoft/deberta-v3-large"
tok = AutoTokenizer.from_pretrained(name)
model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=1).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=7e-6)
scaler = torch.amp.GradScaler("cuda")


def collate(rows):
    q, d, y = zip(*rows)
    return tok(list(q), list(d), truncation=True, max_length=256, padding=True, return_tensors="pt"), torch.tensor(y)


loader = DataLoader(PairSet("train"), batch_size=32, shuffle=True, collate_fn=collate, num_workers=4)
model.train()
for step, (enc, y) in enumerate(loader):
    enc, y = enc.to("cuda"), y.float().cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(**enc).logits.squeeze(1), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    if step % 200 == 0:
        print(step, loss.item())
