import evaluate
import numpy as np
from transformers import AutoModelForMaskedLM, AutoTokenizer, Trainer, TrainingArguments

accuracy = evaluate.load("accuracy")


def compute_metrics(pred):
    logits, labels = pred
    keep = labels != -100
    guess = np.argmax(logits, axis=-1)[keep]
    return accuracy.compute(predictions=guess, references=labels[keep])


def main(train, dev, collator):
    model = AutoModelForMaskedLM.from_pretrained("roberta-base")
    args = TrainingArguments("out", per_device_eval_batch_size=32, eval_strategy="steps", eval_steps=500)
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=dev,
        data_collator=collator,
        compute_metrics=compute_metrics,
    )
    trainer.train()
