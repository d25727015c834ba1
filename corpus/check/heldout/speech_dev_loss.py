import torch
from tqdm import tqdm


class SpeakerVerifier:
    def __init__(self, model, loss, device):
        self.model, self.loss, self.device = model, loss, device

    def forward_loss(self, batch):
        wav, spk = batch
        emb = self.model(wav.to(self.device))
        return self.loss(emb, spk.to(self.device))

    def dev_epoch(self, loader):
        self.model.eval()
        acc = torch.zeros((), device=self.device)
        for batch in tqdm(loader):
            acc += self.forward_loss(batch)
        self.model.train()
        return acc.item() / len(loader)

    def train_epoch(self, loader, opt):
        acc = 0.0
        for batch in loader:
            loss = self.forward_loss(batch)
            opt.zero_grad()
            loss.backward()
            opt.step()
            acc += loss.item()
        return acc / len(loader)
