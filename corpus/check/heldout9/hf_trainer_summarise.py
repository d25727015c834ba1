import torch
from datasets import load_dataset
from transformers import (AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer,
                          TrainingArguments)

NAME = "EleutherAI/pythia-6.9b"
tok = AutoTokenizer.from_pretrained(NAME)
tok.pad_token = tok.eos_token
model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16).cuda()


def encode(row):
    return tok(row["article"][:6000] + "\nTL;DR: " + row["highlights"], truncation=True, max_length=1024)


def token_accuracy(pred):
    logits, labels = pred
    guess = logits.argmax(-1)[:, :-1]
    gold = labels[:, 1:]
    keep = gold != -100
    return {"acc": float((guess == gold)[keep].mean())}


data = load_dataset("cnn_dailymail", "3.0.0")
train = data["train"].map(encode, remove_columns=data["train"].column_names)
valid = data["validation"].map(encode, remove_columns=data["validation"].column_names)

args = TrainingArguments(
    "out", per_device_train_batch_size=1, per_device_eval_batch_size=4, gradient_accumulation_steps=32,
    eval_strategy="steps", eval_steps=500, bf16=True, gradient_checkpointing=True, learning_rate=1e-5,
)
trainer = Trainer(
    model=model, args=args, train_dataset=train, eval_dataset=valid,
    data_collator=DataCollatorForLanguageModeling(tok, mlm=False), compute_metrics=token_accuracy,
)
trainer.train()
