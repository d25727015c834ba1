import torch
import torch.nn.functional as F
from transformers import AutoModel, AutoTokenizer

from longdocs import documents

tok = AutoTokenizer.from_pretrained("bert-base-uncased")
bert = AutoModel.from_pretrained("bert-base-uncased").cuda()
head = torch.nn.Linear(768, 5).cuda()
params = list(bert.parameters()) + list(head.parameters())
opt = torch.optim.AdamW(params, lr=2e-5)


def chunks(text, size=512):
    enc = tok(text, truncation=True, max_length=size, return_overflowing_tokens=True,
              padding="max_length", return_tensors="pt")
    for ids, am in zip(enc["input_ids"], enc["attention_mask"]):
        yield ids[None].cuda(), am[None].cuda()


bert.train()
for epoch in range(5):
    for doc in documents("train"):
        label = torch.tensor([doc.rating]).cuda()
        loss = 0
        n = 0
        # every 512 token chunk is classified on its own with the label of the document
        for ids, am in chunks(doc.text):
            cls = bert(ids, attention_mask=am).last_hidden_state[:, 0]
            loss = loss + F.cross_entropy(head(cls), label)
            n += 1
        loss = loss / n
        opt.zero_grad()
        loss.backward()
        opt.step()
