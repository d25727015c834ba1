import torch

from model import Segmenter
from data import make_loader


def main(path="best.ckpt", epochs=20):
    device = torch.device("cuda")
    model = Segmenter().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ckpt = torch.load(path, map_location=device)
    model.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["optimizer"])
    start = ckpt["epoch"] + 1
    for epoch in range(start, epochs):
        for x, y in make_loader("train"):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
            opt.step()


if __name__ == "__main__":
    main()
