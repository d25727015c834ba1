import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
class D(Dataset):
    def __init__(s, n): s.n = n
    def __len__(s): return s.n
    def __getitem__(s, i): return {"input_ids": torch.randint(0, 3000, (128,)), "attention_mask": torch.ones(128, dtype=torch.long), "labels": i % 2}
model = BertForSequenceClassification(BertConfig(vocab_size=3000, hidden_size=384, num_hidden_layers=6, num_attention_heads=6, intermediate_size=1536))
args = TrainingArguments("out", per_device_train_batch_size=16, gradient_accumulation_steps=4, per_device_eval_batch_size=64, num_train_epochs=4, eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True, bf16=True, report_to=[], disable_tqdm=True)
t = Trainer(model, args, train_dataset=D(512), eval_dataset=D(512)); t.train(); print(t.evaluate()); t.predict(D(256))
