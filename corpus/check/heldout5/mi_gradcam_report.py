"""Grad-CAM overlays for the radiology report. Called once per study from the PACS listener."""
import numpy as np
import torch
import torch.nn.functional as F


class CamMaker:
    def __init__(self, model):
        self.model = model.cuda().eval()

    def __call__(self, volume: np.ndarray, cls: int) -> np.ndarray:
        store = {}

        def keep_act(mod, inp, out):
            store["act"] = out

        def keep_grad(mod, gin, gout):
            store["grad"] = gout[0]

        layer = self.model.layer4[-1]
        layer.register_forward_hook(keep_act)
        layer.register_full_backward_hook(keep_grad)
        x = torch.as_tensor(volume, dtype=torch.float32, device="cuda")[None, None]
        score = self.model(x)[0, cls]
        self.model.zero_grad()
        score.backward()
        w = store["grad"].mean((2, 3, 4), keepdim=True)
        cam = F.relu((w * store["act"]).sum(1))
        cam = cam / cam.amax().clamp_min(1e-6)
        return cam[0].detach().cpu().numpy()


def serve(model, studies):
    cam = CamMaker(model)
    for uid, vol, label in studies:
        yield uid, cam(vol, label)
