"""Pretraining on code. Four micro-batches are meant to make one optimizer step."""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from gpt import GPT, GPTConfig
from tokens import TokenFile

MICRO = 4
STEPS = 60_000


def forward_loss(model, x, y):
    logits = model(x)
    return F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))


def main():
    device = torch.device("cuda")
    model = GPT(GPTConfig(layers=24, width=1024, heads=16)).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1, fused=True)
    loader = DataLoader(TokenFile("code.bin", block=1024), batch_size=8, shuffle=True, num_workers=2, pin_memory=True)

    for step in range(STEPS):
        running = 0.0
        for micro in range(MICRO):
            for x, y in loader:
                x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    loss = forward_loss(model, x, y) / MICRO
                loss.backward()
                running += loss.item()
        opt.step()
        opt.zero_grad()
        if step % 100 == 0:
            print(step, running)


if __name__ == "__main__":
    main()
