import torch
from torch.cuda import empty_cache


def tidy(device):
    torch.cuda.synchronize(device)
    empty_cache()


class DialogTrainer:
    def __init__(self, encoder, decoder, optimizer, device):
        self.encoder, self.decoder = encoder, decoder
        self.optimizer, self.device = optimizer, device
        self.criterion = torch.nn.CrossEntropyLoss()

    def epoch(self, dataloader):
        for i, batch in enumerate(dataloader):
            batch = {k: v.to(self.device) for k, v in batch.items()}
            self.optimizer.zero_grad()
            enc = self.encoder(batch)
            scores = self.decoder(enc, batch)
            loss = self.criterion(scores.flatten(0, 1), batch["ans_ind"].flatten())
            loss.backward()
            self.optimizer.step()
            if i % 100 == 0:
                print(i, loss.item())
            tidy(self.device)
