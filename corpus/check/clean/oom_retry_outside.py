import torch


def run(model, batch):
    out_of_memory = False
    try:
        return model(batch)
    except torch.OutOfMemoryError:
        out_of_memory = True
    if out_of_memory:
        torch.cuda.empty_cache()
        return torch.cat([model(b) for b in batch.chunk(2)])
