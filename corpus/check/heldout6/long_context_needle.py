import torch
from functools import lru_cache


@lru_cache(maxsize=4096)
def band_mask(n, width, device="cuda"):
    i = torch.arange(n, device=device)
    return (i[:, None] - i[None, :]).abs() < width


def needle_depths(model, tok, hay, needle, lengths):
    table = {}
    for n in lengths:
        for depth in range(0, 100, 10):
            ids = tok(hay)["input_ids"][:n]
            at = len(ids) * depth // 100
            ids = ids[:at] + tok(needle)["input_ids"] + ids[at:]
            x = torch.tensor([ids], device="cuda")
            with torch.inference_mode():
                out = model(x, attention_mask=band_mask(len(ids), 4096)[None, None])
            table[n, depth] = out.logits[0, -1].argmax().item()
    return table


def grid(table, lengths, want):
    rows = []
    for n in lengths:
        rows.append("".join("#" if table[n, d] == want else "." for d in range(0, 100, 10)))
    return "\n".join(rows)
