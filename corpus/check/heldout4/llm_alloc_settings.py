"""Continued pretraining. The env var is supposed to stop the fragmentation OOM after 2h."""
import os
import sys

import torch
from transformers import AutoModelForCausalLM, get_constant_schedule

from corpus_stream import batches

name = sys.argv[1]
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
model.gradient_checkpointing_enable()
model.config.use_cache = False
model.to("cuda:0")

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

opt = torch.optim.AdamW(model.parameters(), lr=1e-5, foreach=False)
sched = get_constant_schedule(opt)
model.train()
for step, ids in enumerate(batches(name, seq=4096)):
    ids = ids.to("cuda:0")
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    if step % 100 == 0:
        free, total = torch.cuda.mem_get_info()
        print(step, round(loss.item(), 3), f"{free / total:.0%} free", flush=True)
    if step % 5000 == 4999:
        model.save_pretrained(f"cpt-{step}")
