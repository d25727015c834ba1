import numpy as np
from transformers import Trainer, TrainingArguments


def keep_argmax(logits, labels):
    if isinstance(logits, tuple):
        logits = logits[0]
    return logits.argmax(dim=-1)


def compute_metrics(p):
    preds, labels = p
    mask = labels != -100
    return {"accuracy": float(np.mean(preds[mask] == labels[mask]))}


def build(model, ds, collator, out="out"):
    args = TrainingArguments(
        output_dir=out,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=32,
        eval_strategy="epoch",
        bf16=True,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds["train"],
        eval_dataset=ds["validation"],
        data_collator=collator,
        compute_metrics=compute_metrics,
        preprocess_logits_for_metrics=keep_argmax,
    )
