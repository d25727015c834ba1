import torch


class Executor:
    def __init__(self):
        self.step = 0

    def train(self, model, optimizer, loader, device, grad_clip=5.0):
        model.train()
        for keys, feats, target, feats_len, target_len in loader:
            feats, target = feats.to(device), target.to(device)
            logits = model(feats)
            loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), target)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
            if torch.isfinite(norm):
                optimizer.step()
            self.step += 1
