import torch


@torch.inference_mode()
def generate(model, tok, prompts, max_new_tokens=512):
    enc = tok(prompts, return_tensors="pt", padding=True).to("cuda")
    try:
        out = model.generate(**enc, max_new_tokens=max_new_tokens)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        if len(prompts) == 1:
            raise
        half = len(prompts) // 2
        return generate(model, tok, prompts[:half]) + generate(model, tok, prompts[half:])
    return tok.batch_decode(out, skip_special_tokens=True)
