import torch

weights = torch.load("net.pt", map_location="cuda:0")  # <-
net = make_net()
net.to("cuda:0")
net.load_state_dict(weights)
net.eval()

def predict(x):
    with torch.inference_mode():
        return net(x).argmax(1).tolist()
