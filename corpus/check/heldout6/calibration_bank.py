"""Expected calibration error of next-token predictions."""
import torch


class Calibration:
    def __init__(self, bins=15):
        self.bins = bins
        self.logits, self.targets = [], []

    def update(self, logits, targets):
        self.logits.append(logits)
        self.targets.append(targets)

    def compute(self):
        p = torch.cat(self.logits).softmax(-1)
        conf, pred = p.max(-1)
        ok = pred == torch.cat(self.targets)
        edges = torch.linspace(0, 1, self.bins + 1, device=p.device)
        ece = 0.0
        for lo, hi in zip(edges, edges[1:]):
            m = (conf > lo) & (conf <= hi)
            if m.any():
                ece += m.float().mean() * (ok[m].float().mean() - conf[m].mean()).abs()
        return float(ece)


@torch.inference_mode()
def run(model, loader):
    cal = Calibration()
    for batch in loader:
        ids = batch["input_ids"].cuda()
        logits = model(ids).logits[:, :-1]
        cal.update(logits.flatten(0, 1), ids[:, 1:].flatten())
    return cal.compute()
