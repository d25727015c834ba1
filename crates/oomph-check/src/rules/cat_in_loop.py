# --- bad
import torch

preds = torch.tensor([])
with torch.no_grad():
    for x, _ in test_loader:
        preds = torch.cat([preds, model(x)])
# --- good
import torch

parts = []
with torch.no_grad():
    for x, _ in test_loader:
        parts.append(model(x))
preds = torch.cat(parts)
# --- silent
import torch

for _ in range(max_new_tokens):
    logits = model(ids)
    ids = torch.cat([ids, logits.argmax(-1)], dim=1)
# --- silent
import torch

for x, y in loader:
    x = torch.cat([x, x.flip(0)])
    print(model(x))
