import torch
import torch.nn.functional as F


class DPOTrainer:
    def __init__(self, policy, ref_model, opt, beta=0.1):
        self.policy, self.ref_model, self.opt, self.beta = policy.cuda(), ref_model.cuda(), opt, beta

    def logp(self, model, ids, mask):
        lp = model(ids).logits.log_softmax(-1)[:, :-1]
        return (lp.gather(-1, ids[:, 1:, None]).squeeze(-1) * mask[:, 1:]).sum(-1)

    def step(self, win, lose, mw, ml):
        pw, pl = self.logp(self.policy, win, mw), self.logp(self.policy, lose, ml)
        rw, rl = self.logp(self.ref_model, win, mw), self.logp(self.ref_model, lose, ml)
        loss = -F.logsigmoid(self.beta * ((pw - rw) - (pl - rl))).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
