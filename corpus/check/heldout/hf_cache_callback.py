import gc

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments


class FreeMemoryCallback(TrainerCallback):
    """Keeps nvidia-smi low."""

    def on_step_end(self, args, state, control, **kwargs):
        torch.cuda.empty_cache()

    def on_epoch_end(self, args, state, control, **kwargs):
        gc.collect()


def build_trainer(model, train_ds, collator, out):
    args = TrainingArguments(out, per_device_train_batch_size=4, num_train_epochs=3, bf16=True)
    return Trainer(
        model=model,
        args=args,
        train_dataset=train_ds,
        data_collator=collator,
        callbacks=[FreeMemoryCallback()],
    )
