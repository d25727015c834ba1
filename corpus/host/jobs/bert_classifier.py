"""Fine-tunes a small BERT, made from its configuration, on token ids."""

import argparse

import torch
from transformers import BertConfig, BertForSequenceClassification

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--steps", type=int, default=6)
args = parser.parse_args()

config = BertConfig(hidden_size=384, num_hidden_layers=4, num_attention_heads=6, intermediate_size=1536, num_labels=3)
model = BertForSequenceClassification(config).to(args.device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
model.train()
for step in range(args.steps):
    ids = torch.randint(0, config.vocab_size, (8, 64), device=args.device)
    labels = torch.randint(0, 3, (8,), device=args.device)
    loss = model(input_ids=ids, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
