import torch
import torch.nn.functional as F


@torch.no_grad()
def soft_targets(teacher, batch, temperature):
    return F.softmax(teacher(**batch).logits / temperature, dim=-1)


def kd_step(student, teacher, batch, labels, T=4.0, alpha=0.7):
    target = soft_targets(teacher, batch, T)
    logits = student(**batch).logits
    kd = F.kl_div(F.log_softmax(logits / T, -1), target, reduction="batchmean") * T * T
    ce = F.cross_entropy(logits, labels)
    return alpha * kd + (1 - alpha) * ce, kd.detach(), ce.detach()


def train(student, teacher, loader, opt, device="cuda"):
    teacher.to(device).eval()
    student.to(device).train()
    log = {"kd": 0.0, "ce": 0.0}
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        loss, kd, ce = kd_step(student, teacher, batch, batch.pop("labels"))
        opt.zero_grad()
        loss.backward()
        opt.step()
        log["kd"] += kd.item()
        log["ce"] += ce.item()
    return {k: v / len(loader) for k, v in log.items()}
