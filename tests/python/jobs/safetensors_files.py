"""Weights through safetensors, by itself and as transformers keeps them."""

import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save_file, save_model
from transformers import AutoModelForCausalLM, GPT2Config

config = GPT2Config(n_layer=2, n_embd=256, n_head=4, vocab_size=5000, n_positions=64)
model = AutoModelForCausalLM.from_config(config).cuda()
optimizer = torch.optim.AdamW(model.parameters())
model(torch.zeros(1, 8, dtype=torch.int64, device="cuda"), labels=torch.zeros(1, 8, dtype=torch.int64, device="cuda")).loss.backward()
optimizer.step()

half = {"embedding": torch.zeros(5000, 256, dtype=torch.bfloat16, device="cuda"), "order": torch.arange(300_000)}
save_file(half, "half.safetensors", metadata={"format": "pt"})
before = torch.cuda.memory_allocated()
loaded = load_file("half.safetensors", device="cuda")
assert torch.cuda.memory_allocated() - before == 5000 * 256 * 2 + 2_400_256, torch.cuda.memory_allocated() - before
assert loaded["embedding"].dtype == torch.bfloat16 and loaded["order"][-1].item() == 299_999
with safe_open("half.safetensors", framework="pt", device="cpu") as file:
    assert file.metadata() == {"format": "pt"} and file.get_slice("embedding")[:10].shape == (10, 256)

save_model(model, "model.safetensors")
load_model(model, "model.safetensors")
model.save_pretrained("saved")
again = AutoModelForCausalLM.from_pretrained("saved", dtype=torch.bfloat16, device_map="cuda")
assert all(parameter.is_cuda and parameter.dtype == torch.bfloat16 for parameter in again.parameters())
