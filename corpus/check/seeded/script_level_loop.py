import torch
from transformers import AutoModelForCausalLM

from data import loader

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

for ids in loader:
    ids = ids.cuda()
    logits = model(ids).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
