import argparse

import torch

from model import GPT, GPTConfig


def main():
    args = argparse.ArgumentParser().parse_args()
    device = "cuda"
    checkpoint = torch.load("out/ckpt.pt", map_location=device)
    model = GPT(GPTConfig(**checkpoint["model_args"]))
    model.load_state_dict(checkpoint["model"])
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
    optimizer.load_state_dict(checkpoint["optimizer"])
    for it in range(checkpoint["iter_num"], 600000):
        loss = model.next_loss()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


if __name__ == "__main__":
    main()
