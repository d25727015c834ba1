import torch
from sklearn.metrics import roc_auc_score


def forward_batch(model, batch, device):
    ids, mask = batch["input_ids"].to(device), batch["attention_mask"].to(device)
    return model(ids, attention_mask=mask)


def score(model, loader, device):
    model.eval()
    all_logits, all_labels = [], []
    for batch in loader:
        logits = forward_batch(model, batch, device)
        all_logits.extend(logits)
        all_labels.extend(batch["labels"].tolist())
    scores = torch.stack(all_logits)[:, 1]
    return roc_auc_score(all_labels, scores.detach().cpu().numpy())
