import os
import torch
from transformers import AutoConfig, AutoModelForCausalLM

print("GPUs:", torch.cuda.device_count(), torch.cuda.get_device_name(0))
torch.zeros(1).cuda()
# fragmentation at 64k context
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"


def build(path):
    conf = AutoConfig.from_pretrained(path)
    conf.use_cache = False
    model = AutoModelForCausalLM.from_pretrained(path, config=conf, torch_dtype=torch.bfloat16,
                                                 attn_implementation="flash_attention_2")
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model.cuda().train()


def train(path, stream, steps):
    model = build(path)
    opt = torch.optim.AdamW(model.parameters(), 1e-5, fused=True)
    for step, ids in zip(range(steps), stream):
        ids = ids.cuda()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        if step % 20 == 0:
            print(step, loss.item())
