import torch
from accelerate import Accelerator

from build import build_loader, build_model


def main():
    acc = Accelerator(gradient_accumulation_steps=8, mixed_precision="bf16")
    model = build_model()
    loader = build_loader(batch_size=2)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, opt, loader = acc.prepare(model, opt, loader)

    model.train()
    for epoch in range(3):
        seen, running = 0, 0.0
        for batch in loader:
            # the wrapped optimizer skips step and zero_grad until the eighth micro batch
            with acc.accumulate(model):
                loss = model(**batch).loss
                acc.backward(loss)
                if acc.sync_gradients:
                    acc.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
            running += loss.detach().item()
            seen += 1
        acc.print(epoch, running / seen)


if __name__ == "__main__":
    main()
