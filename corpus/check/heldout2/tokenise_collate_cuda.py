from functools import partial

from torch.utils.data import DataLoader
from transformers import AutoTokenizer


def pad(rows, tokenizer):
    texts = [r["text"] for r in rows]
    enc = tokenizer(texts, padding=True, truncation=True, return_tensors="pt").to("cuda")
    enc["labels"] = enc["input_ids"].clone()
    return enc


def make_loader(dataset, name="gpt2", workers=4):
    tokenizer = AutoTokenizer.from_pretrained(name)
    tokenizer.pad_token = tokenizer.eos_token
    return DataLoader(dataset, batch_size=16, num_workers=workers, collate_fn=partial(pad, tokenizer=tokenizer))
