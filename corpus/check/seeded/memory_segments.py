import torch


class SegmentTrainer:
    def __init__(self, model, opt):
        self.model = model
        self.opt = opt
        self.memory = None

    def train(self, train_loader):
        self.model.train()
        for segment in train_loader:
            segment = segment.to("cuda")
            out, self.memory = self.model(segment, self.memory)
            self.opt.zero_grad()
            out.loss.backward(retain_graph=True)
            self.opt.step()
