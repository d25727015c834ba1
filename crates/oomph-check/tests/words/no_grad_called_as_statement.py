import torch


def run(model, loader, device):
    torch.no_grad()  # <-
    model.to(device)
    model.eval()
    for x in loader:
        print(model(x.to(device)).argmax(1))
    with torch.no_grad():
        print(model(torch.ones(1, 3, 8, 8, device=device)))
