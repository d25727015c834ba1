import torch.nn.functional as F
from datasets import load_dataset
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer,
                          TrainingArguments)


class DistilTrainer(Trainer):
    def __init__(self, *args, big=None, temperature=3.0, **kw):
        super().__init__(*args, **kw)
        self.big = big.to(self.args.device).eval()
        self.temperature = temperature

    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        small = model(**inputs)
        target = self.big(**inputs).logits
        t = self.temperature
        kl = F.kl_div(F.log_softmax(small.logits / t, -1), F.softmax(target / t, -1), reduction="batchmean") * t * t
        loss = 0.5 * kl + 0.5 * small.loss
        return (loss, small) if return_outputs else loss


def main():
    tok = AutoTokenizer.from_pretrained("bert-large-uncased")
    data = load_dataset("glue", "mnli").map(lambda r: tok(r["premise"], r["hypothesis"], truncation=True), batched=True)
    big = AutoModelForSequenceClassification.from_pretrained("mnli-bert-large")
    small = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=3)
    DistilTrainer(small, TrainingArguments("distil", per_device_train_batch_size=32, bf16=True), big=big,
                  train_dataset=data["train"], data_collator=DataCollatorWithPadding(tok)).train()


if __name__ == "__main__":
    main()
