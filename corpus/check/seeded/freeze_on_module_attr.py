import torch


class SourceFree:
    def __init__(self, model):
        self.model = model.cuda()
        for p in self.model.outc.parameters():
            p.required_grad = False
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-4)

    def adapt(self, x):
        out = self.model(x.cuda())
        ent = -(out.softmax(1) * out.log_softmax(1)).sum(1).mean()
        self.opt.zero_grad()
        ent.backward()
        self.opt.step()
