import torch
from tqdm.auto import tqdm


class Seq2SeqTrainer:
    def __init__(self, model, optimizer, loader, pad_id, virtual=16):
        self.model = model
        self.optimizer = optimizer
        self.loader = loader
        self.virtual = virtual
        self.loss_fn = torch.nn.CrossEntropyLoss(ignore_index=pad_id)

    def _micro(self, batch):
        src, tgt = batch["src"].cuda(), batch["tgt"].cuda()
        logits = self.model(src, tgt[:, :-1])
        loss = self.loss_fn(logits.flatten(0, 1), tgt[:, 1:].flatten())
        (loss / self.virtual).backward()
        return loss.item()

    def fit(self, updates):
        bar = tqdm(range(updates))
        for _ in bar:
            total = 0.0
            for _micro_step in range(self.virtual):
                for batch in self.loader:
                    total += self._micro(batch)
            self.optimizer.step()
            self.optimizer.zero_grad()
            bar.set_postfix(loss=total)
