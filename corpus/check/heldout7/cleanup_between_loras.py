import gc
import glob

import torch
from diffusers import FluxPipeline


def clean():
    gc.collect()
    torch.cuda.clear_cache()
    torch.cuda.ipc_collect()


def render(lora_path, prompt, seeds):
    pipe = FluxPipeline.from_pretrained("black-forest-labs/FLUX.1-dev", torch_dtype=torch.bfloat16)
    pipe.load_lora_weights(lora_path)
    pipe.enable_model_cpu_offload()
    for s in seeds:
        g = torch.Generator("cpu").manual_seed(s)
        img = pipe(prompt, num_inference_steps=28, guidance_scale=3.5, generator=g).images[0]
        img.save(f"grid/{lora_path.split('/')[-1]}_{s}.png")


if __name__ == "__main__":
    for path in sorted(glob.glob("loras/*.safetensors")):
        try:
            render(path, "a photo of sks dog on the moon", range(4))
        except torch.cuda.OutOfMemoryError:
            print("OOM with", path)
        clean()
