import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification


@torch.inference_mode()
def classify(dataset, name):
    model = AutoModelForSequenceClassification.from_pretrained(name, dtype="auto").cuda().eval()
    loader = DataLoader(dataset, batch_size=64, num_workers=4)
    labels = []
    for batch in loader:
        batch = {k: v.cuda(non_blocking=True) for k, v in batch.items()}
        out = model(**batch, output_hidden_states=True, output_attentions=True)
        labels += out.logits.argmax(-1).tolist()
    return labels
