import sys
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup
from peft import LoraConfig, get_peft_model

from sft_data import packed_loader

CFG = {"lr": 2e-4, "bs": 2, "every": 16, "epochs": 2, "len": 4096}


def load(base):
    tok = AutoTokenizer.from_pretrained(base)
    lm = AutoModelForCausalLM.from_pretrained(base, torch_dtype=torch.bfloat16, use_cache=False)
    lm.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    lm.enable_input_require_grads()
    peft = LoraConfig(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return tok, get_peft_model(lm, peft).cuda()


def main(base):
    tok, lm = load(base)
    loader = packed_loader(tok, CFG["len"], CFG["bs"])
    opt = torch.optim.AdamW((p for p in lm.parameters() if p.requires_grad), CFG["lr"])
    sched = get_cosine_schedule_with_warmup(opt, 50, CFG["epochs"] * len(loader) // CFG["every"])
    for epoch in range(CFG["epochs"]):
        opt.zero_grad()
        for n, ids in enumerate(loader):
            ids = ids.cuda()
            loss = lm(input_ids=ids, labels=ids).loss
            (loss / CFG["every"]).backward()
            if n % CFG["every"] != CFG["every"] - 1:
                continue
            opt.step()
            sched.step()
            opt.zero_grad()
        lm.save_pretrained(f"out/{epoch}")


main(sys.argv[1])
