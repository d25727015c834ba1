"""Distil my fine-tuned bert-large into a 4 layer student (section 4.2)."""
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from transformers import BertConfig, BertForSequenceClassification

from glue import make_loader

T, ALPHA = 4.0, 0.7
dev = "cuda"

teacher = BertForSequenceClassification.from_pretrained("ckpt/bert-large-mnli", num_labels=3).to(dev)
teacher.eval()
student = BertForSequenceClassification(BertConfig(num_hidden_layers=4, hidden_size=312,
                                                   num_attention_heads=12, intermediate_size=1200,
                                                   num_labels=3)).to(dev)
opt = torch.optim.AdamW(student.parameters(), 3e-5)
loader = make_loader("mnli", "train", 32)
curve = {"kd": [], "ce": []}

for epoch in range(3):
    student.train()
    for batch in loader:
        batch = {k: v.to(dev) for k, v in batch.items()}
        labels = batch.pop("labels")
        t_logits = teacher(**batch).logits
        s_logits = student(**batch).logits
        kd = F.kl_div(F.log_softmax(s_logits / T, -1), F.softmax(t_logits / T, -1), reduction="batchmean") * T * T
        ce = F.cross_entropy(s_logits, labels)
        loss = ALPHA * kd + (1 - ALPHA) * ce
        opt.zero_grad()
        loss.backward()
        opt.step()
        curve["kd"].append(kd)
        curve["ce"].append(ce)

for name, vals in curve.items():
    plt.plot([v.item() for v in vals], label=name)
plt.legend()
plt.savefig("kd.png")
student.save_pretrained("tinybert-mnli")
