import copy
import json

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


def logprob(net, ids, mask):
    """Sum of log-probabilities of the answer tokens."""
    out = net(input_ids=ids).logits[:, :-1].log_softmax(-1)
    tok_lp = out.gather(2, ids[:, 1:, None]).squeeze(2)
    return (tok_lp * mask[:, 1:]).sum(1)


class DPO:
    def __init__(self, name, beta=0.1, lr=5e-7):
        self.policy = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).cuda()
        self.anchor = copy.deepcopy(self.policy).eval()
        self.beta = beta
        self.opt = torch.optim.RMSprop(self.policy.parameters(), lr=lr)

    def loss(self, win, win_m, lose, lose_m):
        pw, pl = logprob(self.policy, win, win_m), logprob(self.policy, lose, lose_m)
        rw = logprob(self.anchor, win, win_m)
        rl = logprob(self.anchor, lose, lose_m)
        margin = self.beta * ((pw - rw) - (pl - rl))
        return -F.logsigmoid(margin).mean()

    def run(self, loader):
        for batch in loader:
            loss = self.loss(*(t.cuda() for t in batch))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            yield loss.item()


def collate_with(tok):
    def f(rows):
        packed = []
        for key in ("chosen", "rejected"):
            enc = tok([r["prompt"] + r[key] for r in rows], return_tensors="pt", padding=True, truncation=True, max_length=1024)
            packed += [enc["input_ids"], enc["attention_mask"].float()]
        return packed
    return f


if __name__ == "__main__":
    name = "Qwen/Qwen2.5-0.5B-Instruct"
    rows = [json.loads(x) for x in open("prefs.jsonl")]
    tok = AutoTokenizer.from_pretrained(name)
    for n, value in enumerate(DPO(name).run(DataLoader(rows, 4, shuffle=True, collate_fn=collate_with(tok)))):
        print(n, value)
