import torch


def resume(path, model, opt):
    ckpt = torch.load(path, "cpu", weights_only=True)
    model.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["opt"])
    epoch = ckpt["epoch"]
    del ckpt
    return epoch


def train(model, loader, path, epochs):
    model = model.cuda()
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(resume(path, model, opt), epochs):
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
            opt.step()
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch + 1}, path)
