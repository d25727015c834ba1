"""class: too_big
cap_mib: 2048
"""
import torch
import torch.nn as nn
import torch.nn.functional as F



from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 10000

    def __getitem__(self, i):
        ids = torch.arange(512) % 1000
        return {"input_ids": ids, "labels": ids}


config = GPT2Config(n_layer=6, n_embd=512, n_head=8, vocab_size=8000, n_positions=512)
args = TrainingArguments(output_dir="/tmp/out", per_device_train_batch_size=32, report_to=[], save_strategy="no", max_steps=10000, disable_tqdm=True)
trainer = Trainer(model=GPT2LMHeadModel(config), args=args, train_dataset=Data())
trainer.train()  # guilty
