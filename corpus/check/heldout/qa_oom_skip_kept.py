import torch
from transformers import AutoModelForQuestionAnswering


class Session:
    def __init__(self, name):
        self.model = AutoModelForQuestionAnswering.from_pretrained(name).cuda()
        self.errors = []

    def train(self, loader, opt):
        for step, batch in enumerate(loader):
            batch = {k: v.cuda() for k, v in batch.items()}
            try:
                loss = self.model(**batch).loss
                loss.backward()
            except torch.cuda.OutOfMemoryError as oom:
                self.errors += [oom]
                opt.zero_grad(set_to_none=True)
                continue
            opt.step()
            opt.zero_grad()
        return len(self.errors)
