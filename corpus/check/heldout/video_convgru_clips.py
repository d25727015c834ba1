import torch
from tqdm import tqdm


class ClipTrainer:
    def __init__(self, net, opt, crit, device="cuda"):
        self.net, self.opt, self.crit, self.device = net, opt, crit, device
        self.memory = None

    def fit(self, clips):
        bar = tqdm(clips)
        for clip, boxes in bar:
            feats = self.net.backbone(clip.to(self.device))
            self.memory = self.net.gru(feats, self.memory)
            loss = self.crit(self.net.head(self.memory), boxes.to(self.device))
            self.opt.zero_grad()
            loss.backward(retain_graph=True)
            self.opt.step()
            bar.set_postfix(loss=loss.item())
