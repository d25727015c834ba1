import torch


class Experiment:
    accumulation = 4

    def train(self, dl):
        self.net.train()
        for batch_idx, (inp, tgt) in enumerate(dl):
            loss = self.loss(self.net(inp.cuda()), tgt.cuda())
            loss = loss / self.accumulation
            loss.backward()
            if batch_idx % self.accumulation == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
