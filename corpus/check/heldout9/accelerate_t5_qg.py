import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, DataCollatorForSeq2Seq

acc = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=8)
tok = AutoTokenizer.from_pretrained("google/flan-t5-base")
model = AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-base")


def prep(r):
    enc = tok("question for: " + r["context"], truncation=True, max_length=512)
    enc["labels"] = tok(r["question"], truncation=True, max_length=64)["input_ids"]
    return enc


sq = load_dataset("squad")
cols = sq["train"].column_names
coll = DataCollatorForSeq2Seq(tok, model)
train = DataLoader(sq["train"].map(prep, remove_columns=cols), 8, shuffle=True, collate_fn=coll)
dev = DataLoader(sq["validation"].map(prep, remove_columns=cols), 8, collate_fn=coll)
opt = torch.optim.AdamW(model.parameters(), 1e-4)
model, opt, train, dev = acc.prepare(model, opt, train, dev)

for epoch in range(3):
    model.train()
    tally = torch.zeros((), device=acc.device)
    for batch in train:
        with acc.accumulate(model):
            loss = model(**batch).loss
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
        tally += loss
    acc.print("train", tally.item() / len(train))

    model.eval()
    dev_losses = []
    for batch in dev:
        out = model(**batch)
        dev_losses.append(acc.gather(out.loss.repeat(8)).mean().item())
    acc.print("dev", sum(dev_losses) / len(dev_losses))
