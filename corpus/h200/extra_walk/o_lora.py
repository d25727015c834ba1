import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM
base = LlamaForCausalLM(LlamaConfig(hidden_size=1024, num_hidden_layers=8, num_attention_heads=16, intermediate_size=2816, vocab_size=8000)).to(torch.bfloat16).cuda()
model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
done, target = 0, 80
while True:
    for batch in range(25):
        ids = torch.randint(0, 8000, (4, 256), device="cuda")
        out = model(input_ids=ids, labels=ids)
        (out.loss / 2).backward()
        if batch % 2 == 1:
            opt.step(); opt.zero_grad(); done += 1
        if done >= target: break
        if done and done % 30 == 0 and batch % 2 == 1:
            model.eval()
            with torch.no_grad():
                model(input_ids=torch.randint(0, 8000, (16, 512), device="cuda"))
            model.train()
    if done >= target: break
