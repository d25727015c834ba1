import torch
from torch import nn
class Fit(nn.Module):
    def __init__(self, start, flow):
        super().__init__()
        self.z = nn.Parameter(start)
        self.flow = flow
    def forward(self):
        return self.flow.decode(self.z)
flow = make_flow().cuda()
flow.eval()
for x in loader:
    z = flow(x.cuda())
    start = z.clone().detach()
    fit = Fit(start, flow)
    optimizer = torch.optim.Adam(fit.parameters(), lr=0.001)
    loss = (fit() - x.cuda()).pow(2).mean()
    loss.backward()
    optimizer.step()
# ---
import torch
def distil(student, teacher, loader, optimizer, criterion):
    for x, _ in loader:
        optimizer.zero_grad()
        wanted = teacher(x.cuda())
        loss = criterion(student(x.cuda()), wanted)
        loss.backward()
        optimizer.step()
def held(model):
    for parameter in model.parameters():
        parameter.requires_grad = False
    return model
