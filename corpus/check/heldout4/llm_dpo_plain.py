"""DPO without trl."""
import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM

from prefs import pair_loader

NAME = "meta-llama/Llama-3.2-1B-Instruct"
BETA = 0.1


def seq_logp(model, ids, mask):
    logits = model(ids).logits[:, :-1]
    logp = torch.gather(logits.log_softmax(-1), 2, ids[:, 1:, None]).squeeze(-1)
    return (logp * mask[:, 1:]).sum(-1)


def dpo_step(policy, ref, batch):
    parts = {}
    for side in ("chosen", "rejected"):
        ids, mask = batch[side].cuda(), batch[side + "_mask"].cuda()
        parts[side] = seq_logp(policy, ids, mask) - seq_logp(ref, ids, mask)
    margin = parts["chosen"] - parts["rejected"]
    return -F.logsigmoid(BETA * margin).mean(), margin.detach().mean()


def main():
    load = lambda: AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16).cuda()
    policy, ref = load(), load()
    ref.eval()
    opt = torch.optim.AdamW(policy.parameters(), 5e-7)
    margins = []
    for step, batch in enumerate(pair_loader(NAME)):
        loss, margin = dpo_step(policy, ref, batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
        margins.append(margin.item())
        if step % 20 == 0:
            print(step, loss.item(), sum(margins[-20:]) / 20)


if __name__ == "__main__":
    main()
