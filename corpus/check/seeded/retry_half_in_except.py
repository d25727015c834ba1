import torch


def forward_backward(model, batch, opt):
    try:
        loss = model(**batch).loss
        loss.backward()
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        half = {k: v[: v.size(0) // 2] for k, v in batch.items()}
        loss = model(**half).loss
        loss.backward()
    opt.step()
    opt.zero_grad()
    return loss.item()
