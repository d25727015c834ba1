import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
class D(Dataset):
    def __init__(s, n): s.n = n
    def __len__(s): return s.n
    def __getitem__(s, i):
        x = torch.randint(0, 5000, (256,), generator=torch.Generator().manual_seed(i)); return {"input_ids": x, "labels": x}
model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=512, n_head=8, vocab_size=5000))
args = TrainingArguments("out", per_device_train_batch_size=8, per_device_eval_batch_size=32, num_train_epochs=2, eval_strategy="steps", eval_steps=10, save_strategy="epoch", report_to=[], logging_steps=5, disable_tqdm=True)
Trainer(model, args, train_dataset=D(200), eval_dataset=D(160)).train()
