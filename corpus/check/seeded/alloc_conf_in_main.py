import argparse
import os

import torch
from diffusers import StableDiffusionXLPipeline


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--prompt")
    a = ap.parse_args()
    pipe = StableDiffusionXLPipeline.from_pretrained("stabilityai/stable-diffusion-xl-base-1.0", torch_dtype=torch.float16)
    pipe.to("cuda")
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    pipe(a.prompt).images[0].save("out.png")


if __name__ == "__main__":
    main()
