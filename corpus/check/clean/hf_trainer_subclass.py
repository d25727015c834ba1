import torch
from transformers import Trainer, TrainingArguments


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = torch.nn.functional.cross_entropy(out.logits, labels, label_smoothing=0.1)
        return (loss, out) if return_outputs else loss


def run(model, ds):
    args = TrainingArguments("out", per_device_train_batch_size=8, eval_accumulation_steps=16, bf16=True)
    WeightedTrainer(model=model, args=args, train_dataset=ds).train()
