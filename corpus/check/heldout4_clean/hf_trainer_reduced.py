"""Trainer whose metrics see the arg-max only."""
import numpy as np
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def keep_argmax(logits, labels):
    if isinstance(logits, tuple):
        logits = logits[0]
    return logits.argmax(dim=-1)


def token_accuracy(result):
    guess, gold = result.predictions[:, :-1], result.label_ids[:, 1:]
    keep = gold != -100
    return {"accuracy": float(np.mean(guess[keep] == gold[keep]))}


def main(name, train_ds, eval_ds, collator):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
    args = TrainingArguments(
        output_dir="out",
        bf16=True,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=8,
        eval_accumulation_steps=16,
        gradient_accumulation_steps=8,
        eval_strategy="epoch",
    )
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=train_ds,
        eval_dataset=eval_ds,
        data_collator=collator,
        compute_metrics=token_accuracy,
        preprocess_logits_for_metrics=keep_argmax,
    )
    trainer.train()
    return trainer.evaluate()
