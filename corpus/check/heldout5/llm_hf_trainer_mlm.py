import evaluate
import numpy as np
from datasets import load_from_disk
from transformers import (AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer,
                          TrainingArguments)

CKPT = "almanach/camembertv2-base"
tok = AutoTokenizer.from_pretrained(CKPT)
model = AutoModelForMaskedLM.from_pretrained(CKPT, torch_dtype="auto")
ds = load_from_disk("legal_fr")
acc = evaluate.load("accuracy")


def compute_metrics(p):
    guess = np.argmax(p.predictions, -1)
    keep = p.label_ids != -100
    return acc.compute(predictions=guess[keep], references=p.label_ids[keep])


args = TrainingArguments(
    output_dir="mlm",
    per_device_train_batch_size=16,
    per_device_eval_batch_size=32,
    eval_strategy="steps",
    eval_steps=500,
    num_train_epochs=3,
    bf16=True,
    report_to="none",
)

trainer = Trainer(
    model=model,
    args=args,
    train_dataset=ds["train"],
    eval_dataset=ds["validation"],
    data_collator=DataCollatorForLanguageModeling(tok, mlm_probability=0.15),
    compute_metrics=compute_metrics,
)

if __name__ == "__main__":
    trainer.train()
    print(trainer.evaluate())
