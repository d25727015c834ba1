"""Hidden states and attentions are asked for and never read; outputs must be the same without them."""

import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, num_labels=3
)
model = BertForSequenceClassification(config)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step(ids, labels):
    model.train()
    torch.manual_seed(1)
    out = model(input_ids=ids, labels=labels, output_hidden_states=True)
    optimizer.zero_grad()
    out.loss.backward()
    optimizer.step()
    return out.loss.item()


def predict(ids):
    model.eval()
    with torch.no_grad():
        return model(input_ids=ids, output_hidden_states=True).logits


ids = torch.randint(0, 40, (8, 12), generator=torch.Generator().manual_seed(2))
labels = torch.arange(8) % 3
print([step(ids, labels) for _ in range(3)])
print(predict(ids).double().sum(0).tolist())
