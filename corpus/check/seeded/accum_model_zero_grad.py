import torch


def fit(llm, opt, sched, loader, grad_acc):
    step = 0
    for batch in loader:
        out = llm(**{k: v.cuda() for k, v in batch.items()})
        llm.zero_grad()
        (out.loss / grad_acc).backward()
        step += 1
        if step % grad_acc != 0 and step != len(loader):
            continue
        torch.nn.utils.clip_grad_norm_(llm.parameters(), 1.0)
        opt.step()
        sched.step()
