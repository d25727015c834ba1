import argparse
import copy

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

from prefs import PreferencePairs, collate


def sequence_logp(model, ids, mask):
    logits = model(input_ids=ids, attention_mask=mask["attn"]).logits[:, :-1]
    logp = F.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (logp * mask["answer"][:, 1:]).sum(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--model", default="Qwen/Qwen2.5-7B")
    ap.add_argument("--beta", type=float, default=0.1)
    ap.add_argument("--accum", type=int, default=8)
    args = ap.parse_args()
    tok = AutoTokenizer.from_pretrained(args.model)
    policy = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.bfloat16).cuda()
    reference = copy.deepcopy(policy).eval()
    loader = DataLoader(PreferencePairs("train.jsonl", tok), 1, collate_fn=collate, shuffle=True)
    opt = torch.optim.AdamW(policy.parameters(), 5e-7)

    for step, b in enumerate(loader):
        b = {k: v.cuda() for k, v in b.items()}
        mc = {"attn": b["c_attn"], "answer": b["c_ans"]}
        mr = {"attn": b["r_attn"], "answer": b["r_ans"]}
        pc, pr = sequence_logp(policy, b["chosen"], mc), sequence_logp(policy, b["rejected"], mr)
        rc, rr = sequence_logp(reference, b["chosen"], mc), sequence_logp(reference, b["rejected"], mr)
        loss = -F.logsigmoid(args.beta * ((pc - pr) - (rc - rr))).mean() / args.accum
        loss.backward()
        if (step + 1) % args.accum == 0:
            opt.step()
            opt.zero_grad()
        if step % 50 == 0:
            print(step, loss.item() * args.accum)
    policy.save_pretrained("dpo-out")


if __name__ == "__main__":
    main()
