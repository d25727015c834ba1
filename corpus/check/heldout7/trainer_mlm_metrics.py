import evaluate
import numpy as np
from datasets import load_from_disk
from transformers import (AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer,
                          TrainingArguments)

name = "bert-base-multilingual-cased"
tok = AutoTokenizer.from_pretrained(name)
ds = load_from_disk("europarl_512")
acc = evaluate.load("accuracy")


def compute_metrics(p):
    logits, labels = p
    keep = labels != -100
    return acc.compute(predictions=np.argmax(logits, -1)[keep], references=labels[keep])


args = TrainingArguments(
    output_dir="mlm-mbert",
    per_device_train_batch_size=16,
    per_device_eval_batch_size=16,
    eval_strategy="steps",
    eval_steps=500,
    num_train_epochs=1,
    fp16=True,
)

trainer = Trainer(
    model=AutoModelForMaskedLM.from_pretrained(name),
    args=args,
    train_dataset=ds["train"],
    eval_dataset=ds["validation"],
    data_collator=DataCollatorForLanguageModeling(tok, mlm_probability=0.15),
    compute_metrics=compute_metrics,
)
trainer.train()
print(trainer.evaluate())
