import torch


def attention(q, k, v, scale):
    return torch.softmax(q @ k.transpose(-1, -2) * scale, -1) @ v


def attention_sliced(q, k, v, scale, steps):
    parts = [attention(qs, k, v, scale) for qs in q.chunk(steps, dim=1)]
    return torch.cat(parts, dim=1)


def robust_attention(q, k, v):
    scale = q.shape[-1] ** -0.5
    try:
        out = attention(q, k, v, scale)
    except torch.OutOfMemoryError:
        print("slicing")
        out = attention_sliced(q, k, v, scale, 8)
    return out
