"""The Trainer as most scripts use it: evaluation and checkpoints every few hundred steps, epochs of thousands."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        tokens = torch.randint(0, 1000, (32,))
        return {"input_ids": tokens, "labels": tokens}


model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=1000, n_positions=64))
arguments = TrainingArguments(
    "checkpoints",
    per_device_train_batch_size=4,
    per_device_eval_batch_size=64,
    gradient_accumulation_steps=2,
    num_train_epochs=3,
    eval_strategy="steps",
    eval_steps=500,
    save_steps=700,
    logging_steps=100,
    report_to=[],
)
trainer = Trainer(model, arguments, train_dataset=Tokens(40_000), eval_dataset=Tokens(6_400))
trainer.train()
trainer.save_model("final")
print(trainer.evaluate())
