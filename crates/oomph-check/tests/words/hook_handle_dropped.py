import torch

def campaign(model, loader, rates, flip):
    for rate in rates:
        for layer in model.modules():
            if isinstance(layer, torch.nn.Conv2d):
                layer.register_forward_hook(flip(rate))  # <-
        with torch.no_grad():
            for x, y in loader:
                print((model(x.cuda()).argmax(1).cpu() == y).sum().item())
# ---
import torch

def widths(model, loader, settings, noise):
    for setting in settings:
        for name, module in model.named_modules():
            if name.endswith("fc"):
                module.register_forward_pre_hook(noise(setting))  # <-
        model.eval()
        with torch.inference_mode():
            for batch, _ in loader:
                model(batch)
