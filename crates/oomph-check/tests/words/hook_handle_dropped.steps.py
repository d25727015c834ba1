import torch

def heat(model, layer, x):
    kept = {}
    layer.register_forward_hook(lambda m, i, o: kept.update(out=o.detach()))  # <-
    model(x)
    return kept["out"].mean(1).cpu()

def main(paths, model, read, write):
    model = model.cuda().eval()
    with torch.no_grad():
        for path in paths:
            write(path, heat(model, model.layer4[-1], read(path).cuda()))
