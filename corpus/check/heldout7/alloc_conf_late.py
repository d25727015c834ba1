import os
import sys

import torch
from diffusers import StableDiffusionXLPipeline

assert torch.cuda.is_available()
torch.cuda.set_device(0)
print("GPU:", torch.cuda.get_device_name(0))
print("free:", torch.cuda.mem_get_info()[0] / 2**30)
warm = torch.zeros(1, device="cuda")

# someone on reddit said this fixes the fragmentation OOM
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

pipe = StableDiffusionXLPipeline.from_pretrained("stabilityai/stable-diffusion-xl-base-1.0", torch_dtype=torch.float16)
pipe.load_lora_weights(sys.argv[1])
pipe.to("cuda")

prompts = [l.strip() for l in open("prompts.txt") if l.strip()]
os.makedirs("out", exist_ok=True)
for n, prompt in enumerate(prompts):
    img = pipe(prompt, num_inference_steps=30, height=1024, width=1024).images[0]
    img.save(f"out/{n:04d}.png")
    print(n, prompt[:60], torch.cuda.max_memory_allocated() / 2**30)
