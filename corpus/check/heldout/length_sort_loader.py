import torch
from torch.utils.data import DataLoader


class Curriculum:
    def __init__(self, dataset, bs):
        self.train_loader = DataLoader(dataset, batch_size=bs, num_workers=2)

    def epoch(self, model, opt):
        ordered = sorted(self.train_loader, key=lambda b: b["mask"].sum().item())
        for batch in ordered:
            batch = {k: v.cuda() for k, v in batch.items()}
            opt.zero_grad()
            model(**batch).loss.backward()
            opt.step()
