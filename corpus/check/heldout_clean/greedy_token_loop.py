import torch


@torch.inference_mode()
def greedy(model, ids, eos, limit=128):
    """Token ids only: a few bytes a step."""
    cache = None
    step = ids
    for _ in range(limit):
        out = model(step, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        step = out.logits[:, -1:].argmax(-1)
        ids = torch.cat([ids, step], dim=1)
        if (step == eos).all():
            break
    return ids
