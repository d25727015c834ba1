import numpy as np
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

NAME = "meta-llama/Llama-3.1-8B"
tok = AutoTokenizer.from_pretrained(NAME)
tok.pad_token = tok.eos_token
model = AutoModelForCausalLM.from_pretrained(NAME, device_map="cuda")
model.gradient_checkpointing_enable()
model.config.use_cache = True

ds = load_dataset("json", data_files={"train": "sft.jsonl", "val": "sft_val.jsonl"})
ds = ds.map(lambda r: tok(r["text"], truncation=True, max_length=2048), remove_columns=["text"])


def token_accuracy(p):
    pred = np.argmax(p.predictions[:, :-1], -1)
    lab = p.label_ids[:, 1:]
    keep = lab != -100
    return {"acc": (pred == lab)[keep].mean()}


args = TrainingArguments(
    "sft", per_device_train_batch_size=1, per_device_eval_batch_size=4, gradient_accumulation_steps=16,
    bf16=True, eval_strategy="steps", eval_steps=500, learning_rate=1e-5,
)
trainer = Trainer(
    model=model,
    args=args,
    train_dataset=ds["train"],
    eval_dataset=ds["val"],
    data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    compute_metrics=token_accuracy,
)
trainer.train()
