import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM


def logps(model, ids, mask):
    logits = model(ids).logits[:, :-1]
    lp = logits.log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    return (lp * mask[:, 1:]).sum(1)


class DPO:
    def __init__(self, name, beta=0.1, lr=5e-7):
        self.policy = AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16).cuda()
        self.ref_model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16).cuda().eval()
        self.opt = torch.optim.AdamW(self.policy.parameters(), lr=lr)
        self.beta = beta

    def step(self, chosen, rejected):
        pi = logps(self.policy, *chosen) - logps(self.policy, *rejected)
        ref = logps(self.ref_model, *chosen) - logps(self.ref_model, *rejected)
        loss = -F.logsigmoid(self.beta * (pi - ref)).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()
