# master thesis: hate speech detection with bert-base-german-cased
import random
import numpy as np
import torch
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler
from transformers import BertForSequenceClassification, get_linear_schedule_with_warmup
from data import load_tensors

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
train_ds, val_ds = load_tensors("germeval18")
train_dataloader = DataLoader(train_ds, sampler=RandomSampler(train_ds), batch_size=32)
validation_dataloader = DataLoader(val_ds, sampler=SequentialSampler(val_ds), batch_size=32)

model = BertForSequenceClassification.from_pretrained("bert-base-german-cased", num_labels=2)
model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, eps=1e-8)
epochs = 4
scheduler = get_linear_schedule_with_warmup(optimizer, 0, len(train_dataloader) * epochs)


def flat_accuracy(preds, labels):
    return np.sum(np.argmax(preds, axis=1).flatten() == labels.flatten()) / len(labels)


for epoch_i in range(epochs):
    total_train_loss = 0
    model.train()
    for step, batch in enumerate(train_dataloader):
        b_input_ids, b_input_mask, b_labels = (t.to(device) for t in batch)
        model.zero_grad()
        result = model(b_input_ids, attention_mask=b_input_mask, labels=b_labels, return_dict=True)
        loss = result.loss
        total_train_loss += loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    print("  train loss: {0:.2f}".format(total_train_loss / len(train_dataloader)))

    model.eval()
    total_eval_accuracy = 0
    for batch in validation_dataloader:
        b_input_ids, b_input_mask, b_labels = (t.to(device) for t in batch)
        result = model(b_input_ids, attention_mask=b_input_mask, labels=b_labels)
        logits = result.logits.detach().cpu().numpy()
        total_eval_accuracy += flat_accuracy(logits, b_labels.to("cpu").numpy())
    print("  accuracy: {0:.2f}".format(total_eval_accuracy / len(validation_dataloader)))
