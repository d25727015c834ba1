"""BERT tagger that puts commas back into transcripts."""
from transformers import AutoModelForTokenClassification, Trainer, TrainingArguments


def metrics(p):
    logits, labels = p
    pred = logits.argmax(-1)
    keep = labels != -100
    return {"acc": float((pred[keep] == labels[keep]).mean())}


def main(train_set, dev_set, collator):
    model = AutoModelForTokenClassification.from_pretrained("xlm-roberta-large", num_labels=4)
    args = TrainingArguments(
        output_dir="punct",
        per_device_train_batch_size=16,
        per_device_eval_batch_size=64,
        eval_strategy="epoch",
        bf16=True,
        num_train_epochs=3,
    )
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=train_set,
        eval_dataset=dev_set,
        data_collator=collator,
        compute_metrics=metrics,
    )
    trainer.train()
    return trainer.evaluate()
