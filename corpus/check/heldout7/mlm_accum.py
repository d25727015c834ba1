import torch
from torch.utils.data import DataLoader
from transformers import BertForMaskedLM, BertTokenizerFast, DataCollatorForLanguageModeling

from corpus import ThesisCorpus

tok = BertTokenizerFast.from_pretrained("bert-base-uncased")
collate = DataCollatorForLanguageModeling(tok, mlm_probability=0.15)
loader = DataLoader(ThesisCorpus(tok, 512), batch_size=4, shuffle=True, collate_fn=collate)
model = BertForMaskedLM.from_pretrained("bert-base-uncased").cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
accumulation_steps = 16
model.train()

for update in range(10_000):
    optimizer.zero_grad()
    acc_loss = 0.0
    for micro in range(accumulation_steps):
        for batch in loader:
            batch = {k: v.cuda() for k, v in batch.items()}
            loss = model(**batch).loss / accumulation_steps
            loss.backward()
            acc_loss += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if update % 10 == 0:
        print(update, acc_loss)
    if update % 1000 == 0:
        model.save_pretrained(f"mlm-{update}")
