from transformers import Trainer, TrainerCallback, TrainingArguments
import torch


class FreeMemory(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        torch.cuda.empty_cache()


def finetune(model, ds):
    args = TrainingArguments("out", per_device_train_batch_size=1, bf16=True)
    Trainer(model=model, args=args, train_dataset=ds, callbacks=[FreeMemory()]).train()
