"""class: leak
cap_mib: 2500
"""
import torch
import torch.nn as nn
import torch.nn.functional as F



from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Leaky(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.total = 0

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        loss = outputs.loss
        self.total = self.total + F.relu(outputs.logits).mean()  # guilty
        return (loss, outputs) if return_outputs else loss


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 10000

    def __getitem__(self, i):
        ids = torch.arange(256) % 1000
        return {"input_ids": ids, "labels": ids}


config = GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=8000, n_positions=256)
args = TrainingArguments(output_dir="/tmp/out", per_device_train_batch_size=8, report_to=[], save_strategy="no", max_steps=10000, disable_tqdm=True)
Leaky(model=GPT2LMHeadModel(config), args=args, train_dataset=Data()).train()
