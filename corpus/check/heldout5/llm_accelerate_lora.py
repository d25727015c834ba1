import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, default_data_collator


def main(train_ds, eval_ds, epochs=3):
    accelerator = Accelerator(mixed_precision="bf16")
    base = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.2-3B", torch_dtype=torch.bfloat16)
    model = get_peft_model(base, LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"]))
    opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), 2e-4)
    tr = DataLoader(train_ds, 4, shuffle=True, collate_fn=default_data_collator)
    ev = DataLoader(eval_ds, 8, collate_fn=default_data_collator)
    model, opt, tr, ev = accelerator.prepare(model, opt, tr, ev)
    for ep in range(epochs):
        model.train()
        total = 0
        for batch in tr:
            loss = model(**batch).loss
            total += loss.detach().float()
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
        model.eval()
        losses = []
        for batch in ev:
            outputs = model(**batch)
            losses.append(accelerator.gather(outputs.loss.detach().repeat(8)))
        accelerator.print(ep, (total / len(tr)).item(), torch.cat(losses).mean().item())
