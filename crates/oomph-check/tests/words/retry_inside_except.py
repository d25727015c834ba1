import torch

def attention(q, k, v):
    return torch.softmax(q @ k.mT, -1) @ v

def by_parts(q, k, v):
    return torch.cat([attention(part, k, v) for part in q.chunk(8, 1)], 1)

def robust(q, k, v):
    try:
        out = attention(q, k, v)
    except torch.OutOfMemoryError:
        out = by_parts(q, k, v)  # <-
    return out
# ---
import torch

def picture(vae, latents):
    try:
        return vae.decode(latents)
    except torch.cuda.OutOfMemoryError:
        print("tiles")
        return vae.tiled_decode(latents)  # <-
