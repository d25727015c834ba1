import torch
from seqeval.metrics import classification_report
from torch.utils.data import DataLoader
from transformers import AutoModelForTokenClassification

from conll import CoNLL, LABELS, collate


def evaluate(model, dataset, device="cuda"):
    loader = DataLoader(dataset, batch_size=32, collate_fn=collate)
    model.to(device)
    model.eval()  # no dropout, saves memory

    all_logits = []
    all_labels = []
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        outputs = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        all_logits.append(outputs.logits)
        all_labels.append(batch["labels"])

    y_true, y_pred = [], []
    for logits, labels in zip(all_logits, all_labels):
        pred = logits.argmax(-1)
        for p, l in zip(pred.tolist(), labels.tolist()):
            keep = [(a, b) for a, b in zip(p, l) if b != -100]
            y_pred.append([LABELS[a] for a, _ in keep])
            y_true.append([LABELS[b] for _, b in keep])
    return classification_report(y_true, y_pred, digits=4)


if __name__ == "__main__":
    net = AutoModelForTokenClassification.from_pretrained("./ner-bert-large", num_labels=len(LABELS))
    print(evaluate(net, CoNLL("testb")))
