import gc
import torch
from diffusers import StableDiffusionPipeline


def render(prompts, model_id, out):
    pipe = StableDiffusionPipeline.from_pretrained(model_id, torch_dtype=torch.float16).to("cuda")
    for i, p in enumerate(prompts):
        img = pipe(p, num_inference_steps=30).images[0]
        img.save(f"{out}/{i:05d}.png")
        torch.cuda.empty_cache()
    gc.collect()
    torch.cuda.empty_cache()
    del pipe


def upscale(model, tiles):
    big = []
    with torch.no_grad():
        for t in tiles:
            try:
                big.append(model(t.half().cuda()).cpu())
            except torch.cuda.OutOfMemoryError:
                torch.empty_cache()
                big.append(torch.nn.functional.interpolate(t, scale_factor=4))
    print("reserved", torch.cuda.memory_cached() >> 20, "MiB")
    return big
