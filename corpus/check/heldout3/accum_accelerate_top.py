import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, DataCollatorForSeq2Seq


def main(name="google/flan-t5-base", micro=4, accumulate=8, epochs=2):
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForSeq2SeqLM.from_pretrained(name, dtype="auto")

    def prep(ex):
        out = tok(ex["dialogue"], truncation=True, max_length=512)
        out["labels"] = tok(text_target=ex["summary"], truncation=True, max_length=96)["input_ids"]
        return out

    ds = load_dataset("samsum", split="train").map(prep, batched=True, remove_columns=["id", "dialogue", "summary"])
    loader = DataLoader(ds, batch_size=micro, shuffle=True, collate_fn=DataCollatorForSeq2Seq(tok, model))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)

    accelerator = Accelerator(mixed_precision="bf16")
    model, opt, loader = accelerator.prepare(model, opt, loader)
    model.train()
    for epoch in range(epochs):
        for step, batch in enumerate(loader):
            loss = model(**batch).loss / accumulate
            opt.zero_grad()
            accelerator.backward(loss)
            if (step + 1) % accumulate == 0 or step == len(loader) - 1:
                opt.step()
            if step % 50 == 0:
                accelerator.print(epoch, step, loss.item() * accumulate)
    accelerator.unwrap_model(model).save_pretrained("flan-samsum")


if __name__ == "__main__":
    main()
