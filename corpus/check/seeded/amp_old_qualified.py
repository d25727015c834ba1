import torch


class Engine:
    def __init__(self, model, opt, fp16=True):
        self.model, self.opt = model, opt
        self.fp16 = fp16
        self.scaler = torch.cuda.amp.GradScaler(enabled=fp16)

    def step(self, batch):
        self.opt.zero_grad(set_to_none=True)
        with torch.cuda.amp.autocast(enabled=self.fp16, dtype=torch.float16):
            loss = self.model(**batch).loss
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item()
