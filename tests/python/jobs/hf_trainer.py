"""The Trainer with everything on: checkpointing, bf16, accumulation, evaluation, saving."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        tokens = torch.randint(0, 1000, (32,))
        return {"input_ids": tokens, "labels": tokens}


model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=1000, n_positions=64))
arguments = TrainingArguments(
    "checkpoints",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=2,
    gradient_checkpointing=True,
    bf16=True,
    max_steps=20,
    eval_strategy="steps",
    eval_steps=1,
    save_steps=1,
    save_total_limit=1,
    logging_steps=1,
    report_to=[],
)
trainer = Trainer(model, arguments, train_dataset=Tokens(), eval_dataset=Tokens())
trainer.train()
trainer.save_model("final")
