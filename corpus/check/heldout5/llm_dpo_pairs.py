"""DPO without TRL, one GPU, full fine-tune of a 1B policy."""
import torch
import torch.nn.functional as F


def seq_logp(lm, ids, prompt_len):
    logits = lm(ids[:, :-1]).logits
    lp = torch.gather(logits.log_softmax(-1), 2, ids[:, 1:, None]).squeeze(-1)
    return lp[:, prompt_len - 1:].sum(-1)


def dpo_epoch(policy, reference, pairs, opt, beta=0.1, accum=16):
    policy.train()
    reference.eval()
    margin = 0.0
    opt.zero_grad()
    for i, (win, lose, n) in enumerate(pairs):
        win, lose = win.cuda(), lose.cuda()
        pw, pl = seq_logp(policy, win, n), seq_logp(policy, lose, n)
        rw = seq_logp(reference, win, n)
        rl = seq_logp(reference, lose, n)
        delta = beta * ((pw - rw) - (pl - rl))
        loss = -F.logsigmoid(delta).mean()
        (loss / accum).backward()
        margin += delta.mean().item()
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()
    return margin / (i + 1)
