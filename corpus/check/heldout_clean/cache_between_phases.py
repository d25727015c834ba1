import gc

import torch


def run_phase(model, loader, epochs, lr):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            opt.step()


def main(model, pretrain, finetune, evaluate):
    run_phase(model, pretrain, 10, 1e-3)
    gc.collect()
    torch.cuda.empty_cache()
    run_phase(model, finetune, 3, 1e-4)
    print(evaluate(model))
