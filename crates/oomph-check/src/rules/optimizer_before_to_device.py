# --- bad
import torch

model = torch.nn.Linear(8, 2)
optimizer = torch.optim.Adam(model.parameters())
model = model.cuda()
# --- good
import torch

model = torch.nn.Linear(8, 2).cuda()
optimizer = torch.optim.Adam(model.parameters())
# --- bad
import torch

def build(net, device):
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net.to(device)
    return net, opt
# --- good
import torch

def build(net, device):
    net.to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    return net, opt
# --- silent
import torch

model = torch.nn.Linear(8, 2)
optimizer = torch.optim.Adam(model.parameters())
other = torch.nn.Linear(8, 2).cuda()
# --- silent
import torch

def save(model, path):
    optimizer = torch.optim.Adam(model.parameters())
    train(model, optimizer)
    model.to('cpu')
    torch.save(model.state_dict(), path)
