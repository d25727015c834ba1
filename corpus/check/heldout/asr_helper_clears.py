from itertools import count

import torch


def forward_backward(model, optimizer, ctc, feats, feat_lens, tokens, token_lens, scale):
    optimizer.zero_grad()
    log_probs, out_lens = model(feats, feat_lens)
    loss = ctc(log_probs.transpose(0, 1), tokens, out_lens, token_lens)
    (loss * scale).backward()
    return loss.item()


def train_asr(model, optimizer, loader, device, every=4):
    ctc = torch.nn.CTCLoss(zero_infinity=True)
    model.train()
    running, updates = 0.0, 0
    for n, (feats, fl, tok, tl) in zip(count(1), loader):
        running += forward_backward(
            model, optimizer, ctc,
            feats.to(device), fl, tok.to(device), tl,
            scale=1.0 / every,
        )
        if n % every:
            continue
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        updates += 1
    return running / max(updates, 1)
