import torch

weights = torch.load("net.pt", map_location="cuda:0")  # <-
net = make_net()
net.to("cuda:0")
net.load_state_dict(weights)
net.eval()

def predict(x):
    with torch.inference_mode():
        return net(x).argmax(1).tolist()
# ---
import torch

def main(args, model, optimizer, loader):
    model.cuda()
    if args.distributed:
        checkpoint = torch.load(args.path, map_location="cpu")
        model.load_state_dict(checkpoint["model"])
    else:
        checkpoint = torch.load(args.path)
        model.load_state_dict(checkpoint)
    if args.resume:
        state = torch.load(args.resume)  # <-
        model.load_state_dict(state["model"])
    load_more = False
    if load_more:
        more = torch.load(args.more)
        model.load_state_dict(more["model"])
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# ---
import torch

def main(args, model, optimizer, loader):
    model.cuda()
    checkpoint = torch.load(args.start)
    model.load_state_dict(checkpoint["model"])
    checkpoint = torch.load(args.config)
    optimizer.lr = checkpoint["lr"]
    state = torch.load(args.resume)  # <-
    model.load_state_dict(state["model"])
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
