import torch


def epoch(model, loader, opt, clip):
    for batch in loader:
        opt.zero_grad(set_to_none=False)
        loss = model(batch.cuda())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        opt.step()
