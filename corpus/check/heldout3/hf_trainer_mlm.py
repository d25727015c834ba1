"""Continues masked-LM pretraining of a legal BERT with the HF Trainer."""
from dataclasses import dataclass

import numpy as np
from datasets import load_from_disk
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments


@dataclass
class Paths:
    corpus: str = "/corpora/legal_tokenised"
    base: str = "nlpaueb/legal-bert-base-uncased"
    out: str = "runs/legal-mlm"


def masked_accuracy(p):
    preds = np.argmax(p.predictions, axis=-1)
    mask = p.label_ids != -100
    return {"masked_acc": float((preds[mask] == p.label_ids[mask]).mean())}


def main(paths=Paths()):
    data = load_from_disk(paths.corpus)
    tok = AutoTokenizer.from_pretrained(paths.base)
    model = AutoModelForMaskedLM.from_pretrained(paths.base)
    args = TrainingArguments(
        output_dir=paths.out,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=32,
        learning_rate=5e-5,
        eval_strategy="steps",
        eval_steps=2000,
        save_steps=2000,
        bf16=True,
        report_to="none",
    )
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        data_collator=DataCollatorForLanguageModeling(tok, mlm_probability=0.15),
        compute_metrics=masked_accuracy,
    )
    trainer.train()
    trainer.save_model(paths.out + "/final")


if __name__ == "__main__":
    main()
