import gc

import torch


def stage_two(build_vae, build_unet, data):
    vae = build_vae().cuda()
    with torch.no_grad():
        latents = [vae.encode(x.cuda()).cpu() for x in data]
    torch.cuda.empty_cache()
    del vae
    gc.collect()
    unet = build_unet().cuda()
    return unet, latents
