# training on my 3090, stolen from three different tutorials
import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

base = "meta-llama/Llama-3.2-3B"
tok = AutoTokenizer.from_pretrained(base)
tok.pad_token = tok.eos_token
model = AutoModelForCausalLM.from_pretrained(base, torch_dtype=torch.bfloat16, device_map="cuda")
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
model.enable_input_require_grads()
model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"]))

ds = load_dataset("json", data_files="roleplay.jsonl")["train"]


def collate(rows):
    return tok([r["text"] for r in rows], truncation=True, max_length=2048, padding=True, return_tensors="pt")


dl = DataLoader(ds, batch_size=1, shuffle=True, collate_fn=collate)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)
grad_accum = 16

model.train()
for epoch in range(3):
    for i, b in enumerate(dl):
        b = b.to("cuda")
        out = model(**b, labels=b["input_ids"])
        (out.loss / grad_accum).backward()
        if i > 0 and i % grad_accum == 0:
            opt.step()
            opt.zero_grad()
        if i % 10 == 0:
            print(epoch, i, out.loss.item())
    model.save_pretrained(f"lora-{epoch}")
