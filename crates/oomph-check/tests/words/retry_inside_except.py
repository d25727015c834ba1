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
# ---
import torch
def guarded(work):
    def inner(net, batch):
        try:
            return work(net, batch)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            return sum([work(net, part) for part in batch.chunk(2)])  # <-
    return inner
# ---
import torch
@torch.no_grad()
def score(net, batch):
    x = batch.cuda()
    return net(x).sigmoid().cpu()
def score_all(net, batches):
    found = []
    for batch in batches:
        try:
            found.append(score(net, batch))
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            middle = len(batch) // 2
            low = score(net, batch[:middle])  # <-
            high = score(net, batch[middle:])
            found.append(torch.cat([low, high]))
    return found
