import torch
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config(n_layer=6, n_embd=768, n_head=12)).cuda()
opt = torch.optim.AdamW(model.parameters())
for i in range(20):
    t = torch.randint(0, 50257, (4, 128), device="cuda")
    model(input_ids=t, labels=t).loss.backward(); opt.step(); opt.zero_grad()
model.eval()
out = model.generate(torch.randint(0, 50257, (32, 64), device="cuda"), max_new_tokens=64, do_sample=True, pad_token_id=0, eos_token_id=None)
print(out.shape)
