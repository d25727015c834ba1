"""Grad-CAM heat maps for every image in a folder."""
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from PIL import Image
from torchvision.models import ResNet50_Weights, resnet50


def grad_cam(model, layer, x, target=None):
    saved = {}

    def fwd(_m, _i, out):
        saved["act"] = out

    def bwd(_m, _gi, go):
        saved["grad"] = go[0]

    layer.register_forward_hook(fwd)
    layer.register_full_backward_hook(bwd)
    logits = model(x)
    cls = logits.argmax(1).item() if target is None else target
    model.zero_grad()
    logits[0, cls].backward(retain_graph=True)
    w = saved["grad"].mean((2, 3), keepdim=True)
    cam = F.relu((w * saved["act"]).sum(1, keepdim=True))
    cam = F.interpolate(cam, x.shape[-2:], mode="bilinear", align_corners=False)
    cam = cam - cam.amin()
    return (cam / cam.amax().clamp(min=1e-8))[0, 0].detach().cpu()


def main(folder, out):
    weights = ResNet50_Weights.DEFAULT
    model = resnet50(weights=weights).cuda().eval()
    prep = weights.transforms()
    out = Path(out)
    out.mkdir(exist_ok=True)
    for p in sorted(Path(folder).glob("*.png")):
        image = Image.open(p).convert("RGB")
        heat = grad_cam(model, model.layer4[-1], prep(image)[None].cuda())
        plt.imsave(out / p.name, heat.numpy(), cmap="inferno")


if __name__ == "__main__":
    main("inputs", "cams")
