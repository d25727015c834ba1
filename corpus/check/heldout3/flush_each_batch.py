import gc

import torch
import torch.nn.functional as F
from torch.amp import GradScaler, autocast
from tqdm.auto import tqdm


def flush():
    gc.collect()
    torch.cuda.empty_cache()


class Loop:
    def __init__(self, net, optimizer, device="cuda", fp16=True):
        self.net, self.optimizer, self.device = net.to(device), optimizer, device
        self.scaler = GradScaler("cuda", enabled=fp16)
        self.fp16 = fp16

    def train(self, loader):
        self.net.train()
        bar = tqdm(loader)
        for image, target in bar:
            image, target = image.to(self.device), target.to(self.device)
            self.optimizer.zero_grad()
            with autocast("cuda", enabled=self.fp16):
                loss = F.cross_entropy(self.net(image), target)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            bar.set_postfix(loss=loss.item())
            flush()

    @torch.inference_mode()
    def evaluate(self, loader):
        self.net.eval()
        hits = n = 0
        for image, target in loader:
            pred = self.net(image.to(self.device)).argmax(1)
            hits += (pred.cpu() == target).sum().item()
            n += len(target)
        return hits / n
