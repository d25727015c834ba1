import torch


def kd(student, teacher_logits, x, y, T=4.0):
    s = student(x)
    soft = torch.nn.functional.kl_div(
        (s / T).log_softmax(1), (teacher_logits / T).softmax(1), reduction="batchmean"
    ) * T * T
    hard = torch.nn.functional.cross_entropy(s, y)
    return 0.9 * soft + 0.1 * hard, hard


def epoch(student, cached, opt):
    hard_total = torch.tensor(0.0).cuda()
    for x, y, t in cached:
        loss, hard = kd(student, t.cuda(), x.cuda(), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        hard_total = hard_total + hard
    return hard_total / len(cached)
