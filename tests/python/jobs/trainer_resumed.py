"""transformers' Trainer: keeps the best checkpoint, loads it at the end, and resumes from the last."""

import torch
from transformers import AutoModelForSequenceClassification, BertConfig, Trainer, TrainingArguments

config = BertConfig(num_hidden_layers=2, hidden_size=128, num_attention_heads=4, intermediate_size=256, vocab_size=1000)
data = [{"input_ids": torch.arange(16), "attention_mask": torch.ones(16, dtype=torch.int64), "labels": n % 2} for n in range(16)]


def arguments(epochs):
    return TrainingArguments(
        output_dir="out", per_device_train_batch_size=8, num_train_epochs=epochs, report_to=[], save_strategy="epoch",
        eval_strategy="epoch", load_best_model_at_end=True, metric_for_best_model="accuracy", save_total_limit=2,
    )  # fmt: skip


def accuracy(prediction):
    return {"accuracy": (prediction.predictions.argmax(-1) == prediction.label_ids).mean()}


for epochs, resume in ((2, None), (3, True)):
    model = AutoModelForSequenceClassification.from_config(config)
    trainer = Trainer(model, arguments(epochs), train_dataset=data, eval_dataset=data, compute_metrics=accuracy)
    trainer.train(resume_from_checkpoint=resume)
    assert trainer.state.global_step == 2 * epochs and trainer.state.best_model_checkpoint
trainer.save_model("final")
