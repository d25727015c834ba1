import torch


def reduce(outputs):
    return torch.stack([o["loss"] for o in outputs]).mean().item()


class DepthTrainer:
    def __init__(self, module, optimizer, device):
        self.module, self.optimizer, self.device = module, optimizer, device

    def train(self, dataloader, epoch):
        self.module.train()
        outputs = []
        for batch in dataloader:
            batch = {k: v.to(self.device) for k, v in batch.items()}
            self.optimizer.zero_grad()
            out = self.module.training_step(batch)
            out["loss"].backward()
            self.optimizer.step()
            outputs.append(out)
        print(epoch, reduce(outputs))
