import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(ds, metrics):
    model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
    model.gradient_checkpointing_enable()
    model.config.use_cache = True
    args = TrainingArguments("out", per_device_eval_batch_size=4, bf16=True)
    t = Trainer(model=model, args=args, train_dataset=ds["train"], eval_dataset=ds["test"], compute_metrics=metrics)
    t.train()
