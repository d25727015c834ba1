"""Preference tuning of a 7B chat model with plain PyTorch."""
import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM


def optimise_for_memory(model):
    model.train()
    model.config.use_cache = False
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def sequence_logp(model, ids, mask):
    logits = model(ids, attention_mask=mask).logits[:, :-1]
    logp = logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (logp * mask[:, 1:]).sum(-1)


def dpo_loss(pol_c, pol_r, ref_c, ref_r, beta=0.1):
    return -F.logsigmoid(beta * ((pol_c - ref_c) - (pol_r - ref_r))).mean()


def train(name, loader, steps, lr=5e-7):
    policy = optimise_for_memory(AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16).cuda())
    reference = AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16).cuda().eval()
    opt = torch.optim.AdamW(policy.parameters(), lr=lr)
    for step, b in zip(range(steps), loader):
        b = {k: v.cuda() for k, v in b.items()}
        pc = sequence_logp(policy, b["chosen"], b["chosen_mask"])
        pr = sequence_logp(policy, b["rejected"], b["rejected_mask"])
        rc = sequence_logp(reference, b["chosen"], b["chosen_mask"])
        rr = sequence_logp(reference, b["rejected"], b["rejected_mask"])
        loss = dpo_loss(pc, pr, rc, rr)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, loss.item())
