import math

import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator


class LMEvaluator:
    def __init__(self, name, loader, dtype=torch.bfloat16):
        self.acc = Accelerator()
        model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=dtype)
        self.model, self.loader = self.acc.prepare(model, loader)

    def losses(self):
        self.model.eval()
        kept = []
        for batch in self.loader:
            out = self.model(**batch)
            per_device = out.loss.repeat(batch["input_ids"].size(0))
            kept.append((per_device, out.logits))
        return kept

    def perplexity(self):
        values = [self.acc.gather_for_metrics(l) for l, _ in self.losses()]
        return math.exp(torch.cat(values).mean().item())


def main(name, dataset):
    tok = AutoTokenizer.from_pretrained(name)
    ds = dataset.map(lambda r: tok(r["text"], truncation=True, max_length=1024), remove_columns=["text"])
    loader = torch.utils.data.DataLoader(ds, batch_size=8, collate_fn=default_data_collator)
    print(LMEvaluator(name, loader).perplexity())
