import numpy as np
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def shrink(logits, labels):
    if isinstance(logits, tuple):
        logits = logits[0]
    return logits.argmax(-1)


def metrics(p):
    pred, lab = p.predictions[:, :-1], p.label_ids[:, 1:]
    keep = lab != -100
    return {"acc": float(np.mean(pred[keep] == lab[keep]))}


def main():
    ds = load_from_disk("tok")
    model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype="auto")
    args = TrainingArguments("out", per_device_eval_batch_size=8, eval_strategy="epoch", eval_accumulation_steps=16, bf16=True)
    Trainer(model=model, args=args, train_dataset=ds["train"], eval_dataset=ds["val"], compute_metrics=metrics,
            preprocess_logits_for_metrics=shrink).train()


if __name__ == "__main__":
    main()
