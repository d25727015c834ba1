from datasets import load_dataset
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer,
                          TrainingArguments)


def keep_best(logits, labels):
    if isinstance(logits, tuple):
        logits = logits[0]
    return logits.argmax(-1)


def accuracy(pred):
    return {"acc": float((pred.predictions == pred.label_ids).mean())}


def main():
    name = "distilbert-base-uncased"
    tok = AutoTokenizer.from_pretrained(name)
    data = load_dataset("imdb").map(lambda r: tok(r["text"], truncation=True), batched=True)
    model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=2)
    args = TrainingArguments("out", eval_strategy="epoch", eval_accumulation_steps=20, num_train_epochs=2)
    Trainer(model, args, train_dataset=data["train"], eval_dataset=data["test"],
            data_collator=DataCollatorWithPadding(tok), compute_metrics=accuracy,
            preprocess_logits_for_metrics=keep_best).train()


if __name__ == "__main__":
    main()
