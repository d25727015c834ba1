"""LoRA on a 7B with accelerate; 8 micro batches per update."""
import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from sft_data import packed_loader

MODEL = "mistralai/Mistral-7B-v0.1"
GRAD_ACC = 8


def main():
    acc = Accelerator(mixed_precision="bf16")
    tok = AutoTokenizer.from_pretrained(MODEL)
    base = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.bfloat16)
    model = get_peft_model(base, LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"]))
    opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), 2e-4)
    loader = packed_loader(tok, seq_len=2048, batch_size=1)
    model, opt, loader = acc.prepare(model, opt, loader)

    model.train()
    for update in range(1000):
        for micro in range(GRAD_ACC):
            for batch in loader:
                loss = model(**batch).loss / GRAD_ACC
                acc.backward(loss)
        acc.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        acc.print(update, loss.item() * GRAD_ACC)
    acc.unwrap_model(model).save_pretrained("lora-out")


if __name__ == "__main__":
    main()
