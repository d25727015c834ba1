import numpy as np
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def metrics(pred):
    guess = np.argmax(pred.predictions, axis=-1)
    keep = pred.label_ids != -100
    return {"acc": float((guess[keep] == pred.label_ids[keep]).mean())}


def main(train_set, eval_set):
    model = AutoModelForCausalLM.from_pretrained("facebook/opt-1.3b", dtype="bfloat16", use_cache=True)
    args = TrainingArguments(
        "out", bf16=True, gradient_checkpointing=True, eval_strategy="steps", eval_steps=500,
        gradient_checkpointing_kwargs={"use_reentrant": False},
    )
    trainer = Trainer(
        model=model, args=args, train_dataset=train_set, eval_dataset=eval_set, compute_metrics=metrics,
    )
    trainer.train()
