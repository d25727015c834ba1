import logging

import torch
from torch.utils.data import DataLoader
from transformers import BertForQuestionAnswering

from squad_de import SquadFeatures

log = logging.getLogger("qa")
model = BertForQuestionAnswering.from_pretrained("deepset/gbert-large").cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
train = DataLoader(SquadFeatures("train"), batch_size=12, shuffle=True)

skipped = 0
for epoch in range(2):
    model.train()
    for i, batch in enumerate(train):
        try:
            batch = {k: v.cuda() for k, v in batch.items()}
            out = model(**batch)
            out.loss.backward()
            opt.step()
            opt.zero_grad()
            if i % 100 == 0:
                log.info("step %d loss %.4f", i, out.loss.item())
        except Exception:
            # sometimes CUDA out of memory on long passages, just go on
            skipped += 1
            continue
    log.info("epoch %d done, %d batches skipped", epoch, skipped)
    model.save_pretrained(f"gbert-squad-{epoch}")
