import evaluate
import numpy as np
from datasets import load_dataset
from transformers import (AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer,
                          TrainingArguments)

NAME = "Qwen/Qwen2.5-0.5B"
tok = AutoTokenizer.from_pretrained(NAME)
accuracy = evaluate.load("accuracy")


def tokenise(batch):
    return tok(batch["text"], truncation=True, max_length=1024)


def compute_metrics(pred):
    guess = np.argmax(pred.predictions[:, :-1], axis=-1)
    gold = pred.label_ids[:, 1:]
    keep = gold != -100
    return accuracy.compute(predictions=guess[keep], references=gold[keep])


def main():
    raw = load_dataset("wikitext", "wikitext-103-raw-v1")
    ds = raw.map(tokenise, batched=True, remove_columns=["text"])
    args = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=8,
        eval_strategy="steps",
        eval_steps=500,
        bf16=True,
        num_train_epochs=1,
    )
    trainer = Trainer(
        model=AutoModelForCausalLM.from_pretrained(NAME, torch_dtype="bfloat16"),
        args=args,
        train_dataset=ds["train"],
        eval_dataset=ds["validation"],
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        compute_metrics=compute_metrics,
    )
    trainer.train()


if __name__ == "__main__":
    main()
