import torch
from transformers import AutoModelForSequenceClassification


def freeze(model, keep):
    for name, p in model.named_parameters():
        if not any(k in name for k in keep):
            p.requires_grad == False


def make(name="roberta-large"):
    model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=3).cuda()
    freeze(model, keep=("classifier", "layer.23"))
    trainable = [p for p in model.parameters() if p.requires_grad]
    return model, torch.optim.AdamW(trainable, lr=2e-5)
