from collections import deque

import torch


class Mover:
    """Keeps two batches on their way to the card while a third one is used."""

    def __init__(self, source, device="cuda", depth=2):
        self.source, self.device, self.depth = source, device, depth
        self.side = torch.cuda.Stream()

    def _send(self, batch):
        with torch.cuda.stream(self.side):
            return {k: v.pin_memory().to(self.device, non_blocking=True) for k, v in batch.items()}

    def __iter__(self):
        ahead = deque()
        for batch in self.source:
            ahead.append(self._send(batch))
            if len(ahead) > self.depth:
                torch.cuda.current_stream().wait_stream(self.side)
                yield ahead.popleft()
        torch.cuda.current_stream().wait_stream(self.side)
        yield from ahead


def train(model, loader, opt):
    model.train()
    for b in Mover(loader):
        opt.zero_grad()
        loss = model(**b).loss
        loss.backward()
        opt.step()
