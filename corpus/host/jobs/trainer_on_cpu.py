"""The Trainer of transformers on a small masked language model, with an evaluation and a checkpoint at the end of the epoch."""

import argparse
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()


class Texts(Dataset):
    def __init__(self, count: int) -> None:
        self.tokens = [torch.randint(5, 6000, (64,)) for _ in range(count)]

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict:
        tokens = self.tokens[index]
        return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": tokens.clone()}


if __name__ == "__main__":
    config = BertConfig(
        vocab_size=6000, hidden_size=192, num_hidden_layers=3, num_attention_heads=6, intermediate_size=768
    )
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            output_dir=folder, use_cpu=args.device == "cpu", num_train_epochs=1, per_device_train_batch_size=8,
            per_device_eval_batch_size=16, eval_strategy="epoch", save_strategy="epoch", report_to=[], disable_tqdm=True,
            logging_steps=5,
        )  # fmt: skip
        trainer = Trainer(BertForMaskedLM(config), options, train_dataset=Texts(160), eval_dataset=Texts(64))
        trainer.train()
