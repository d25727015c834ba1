import torch
import torch.nn.functional as F


def fit(model, loader, opt, sched, grad_accum=16, epochs=10):
    left = grad_accum
    for epoch in range(epochs):
        model.train()
        for spec, spec_len, text, text_len in loader:
            for group in opt.param_groups:
                group["lr"] = sched(epoch)
            opt.zero_grad(set_to_none=True)
            logp = model(spec.cuda()).log_softmax(-1).transpose(0, 1)
            loss = F.ctc_loss(logp, text.cuda(), spec_len, text_len) / grad_accum
            loss.backward()
            left -= 1
            if left == 0:
                opt.step()
                left = grad_accum
        print(epoch, loss.item())
