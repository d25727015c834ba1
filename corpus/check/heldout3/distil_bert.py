"""Task distillation of a 24-layer teacher into a 6-layer student."""
import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding

from glue import load_task


def kd_loss(s, t, y, temp, alpha):
    soft = F.kl_div(F.log_softmax(s / temp, -1), F.softmax(t / temp, -1), reduction="batchmean") * temp**2
    return alpha * soft + (1 - alpha) * F.cross_entropy(s, y)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--teacher", default="textattack/bert-large-uncased-MNLI")
    p.add_argument("--student", default="nreimers/BERT-Small-L-6")
    p.add_argument("--task", default="mnli")
    p.add_argument("--temp", type=float, default=2.0)
    args = p.parse_args()

    tok = AutoTokenizer.from_pretrained(args.teacher)
    teacher = AutoModelForSequenceClassification.from_pretrained(args.teacher, num_labels=3).cuda()
    student = AutoModelForSequenceClassification.from_pretrained(args.student, num_labels=3).cuda()
    teacher.eval()
    student.train()
    loader = DataLoader(load_task(args.task, tok), 32, shuffle=True, collate_fn=DataCollatorWithPadding(tok))
    opt = torch.optim.AdamW(student.parameters(), lr=5e-5)

    for epoch in range(3):
        for batch in loader:
            y = batch.pop("labels").cuda()
            batch = {k: v.cuda() for k, v in batch.items()}
            t_logits = teacher(**batch).logits
            s_logits = student(**batch).logits
            loss = kd_loss(s_logits, t_logits, y, args.temp, 0.7)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())
    student.save_pretrained("student")


if __name__ == "__main__":
    main()
