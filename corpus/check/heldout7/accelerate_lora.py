import torch
from accelerate import Accelerator
from tqdm.auto import tqdm

from build import build_peft_model, build_loaders


def main():
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=4)
    model, tok = build_peft_model("google/gemma-2-2b", r=32)
    train_dl, eval_dl = build_loaders(tok, batch_size=2)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
    model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)

    for epoch in range(2):
        model.train()
        total_loss = 0
        for step, batch in enumerate(tqdm(train_dl)):
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            total_loss += loss
        accelerator.print(f"epoch {epoch}: {total_loss / len(train_dl)}")

        model.eval()
        eval_loss = 0.0
        for batch in eval_dl:
            with torch.no_grad():
                eval_loss += accelerator.gather(model(**batch).loss).mean().item()
            torch.cuda.empty_cache()
        accelerator.print("eval", eval_loss / len(eval_dl))
    accelerator.unwrap_model(model).save_pretrained("gemma-lora")


if __name__ == "__main__":
    main()
