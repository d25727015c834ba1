import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM


def kd_loss(s, t, T=2.0):
    return F.kl_div(F.log_softmax(s / T, -1), F.softmax(t / T, -1), reduction="batchmean") * T * T


class Distiller:
    def __init__(self, teacher_name, student_name, lr=2e-5):
        kw = dict(torch_dtype=torch.bfloat16, device_map={"": 0})
        self.big = AutoModelForCausalLM.from_pretrained(teacher_name, **kw)
        self.small = AutoModelForCausalLM.from_pretrained(student_name, **kw)
        self.big.eval()
        self.optim = torch.optim.AdamW(self.small.parameters(), lr=lr)

    def step(self, ids, mask):
        ref = self.big(input_ids=ids, attention_mask=mask).logits
        out = self.small(input_ids=ids, attention_mask=mask, labels=ids)
        loss = 0.5 * out.loss + 0.5 * kd_loss(out.logits, ref)
        self.optim.zero_grad(set_to_none=True)
        loss.backward()
        self.optim.step()
        return loss.detach().float()


def main(dataset, epochs=1):
    d = Distiller("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-0.5B")
    for _ in range(epochs):
        for b in DataLoader(dataset, batch_size=2, shuffle=True):
            print(d.step(b["input_ids"].cuda(), b["attention_mask"].cuda()).item())
