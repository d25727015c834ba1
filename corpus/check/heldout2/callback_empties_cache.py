from transformers import Trainer, TrainerCallback, TrainingArguments
import gc
import torch


class FreeMemory(TrainerCallback):
    """Keeps the card tidy."""

    def on_step_end(self, args, state, control, **kwargs):
        gc.collect()
        torch.cuda.empty_cache()

    def on_epoch_end(self, args, state, control, **kwargs):
        print(torch.cuda.memory_summary(abbreviated=True))


def train(model, train_set, out):
    args = TrainingArguments(out, per_device_train_batch_size=2, gradient_checkpointing=True, bf16=True)
    trainer = Trainer(model=model, args=args, train_dataset=train_set, callbacks=[FreeMemory()])
    trainer.train()
