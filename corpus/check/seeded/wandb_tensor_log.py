import torch
import wandb


def train(model, loader, opt):
    log = []
    for step, x in enumerate(loader):
        out, loss = model(x.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        wandb.log({"recon": out[:8], "loss": loss.item()})
        log.append((step, loss))
