import logging
import torch

log = logging.getLogger("harness")


class Request:
    def __init__(self, ids, stop):
        self.ids, self.stop = ids, stop


def generate(model, ids, n):
    with torch.inference_mode():
        return model.generate(ids.cuda(), max_new_tokens=n, do_sample=False).cpu()


def batched(model, reqs, size, n=256):
    out = []
    i = 0
    while i < len(reqs):
        chunk = torch.stack([r.ids for r in reqs[i : i + size]])
        try:
            got = generate(model, chunk, n)
        except RuntimeError as exc:
            msg = repr(exc).lower()
            if not any(w in msg for w in ("out of memory", "alloc_failed")):
                raise
            size = max(1, size // 2)
            log.info("batch size is now %d", size)
            continue
        out.extend(got)
        i += size
    return out
