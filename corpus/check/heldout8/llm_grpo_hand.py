"""GRPO without a library: G samples a prompt, group-normalised reward, KL to the start."""
import torch
import torch.nn.functional as F


def token_logps(model, ids):
    out = model(ids).logits[:, :-1].log_softmax(-1)
    return out.gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)


@torch.no_grad()
def sample_group(model, prompt, g, max_new):
    return model.generate(prompt.repeat(g, 1), do_sample=True, max_new_tokens=max_new)


class GRPO:
    def __init__(self, policy, ref, reward_fn, opt, beta=0.04):
        self.policy, self.ref, self.reward_fn, self.opt, self.beta = policy, ref, reward_fn, opt, beta
        self.ref.eval()
        self.kl_history = []

    def step(self, prompts, g=8):
        for prompt in prompts:
            self.opt.zero_grad()
            seqs = sample_group(self.policy, prompt, g, 256)
            r = torch.tensor([self.reward_fn(s) for s in seqs], device=seqs.device)
            adv = (r - r.mean()) / (r.std() + 1e-4)
            lp = token_logps(self.policy, seqs)
            ref_lp = token_logps(self.ref, seqs)
            d = ref_lp - lp
            kl = d.exp() - d - 1
            loss = -((lp - lp.detach()).exp() * adv[:, None] - self.beta * kl).mean() / len(prompts)
            loss.backward()
            self.kl_history.append(kl.mean())
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
        self.opt.step()
