"""Grad-CAM overlays for every positive study of the day."""
import numpy as np
import torch
import torch.nn.functional as F


class GradCAM:
    def __init__(self, net, layer):
        self.net, self.layer = net, layer
        self.fmap = self.grad = None

    def _keep_map(self, mod, inp, out):
        self.fmap = out

    def _keep_grad(self, mod, gin, gout):
        self.grad = gout[0]

    def __call__(self, x, cls):
        self.layer.register_forward_hook(self._keep_map)
        self.layer.register_full_backward_hook(self._keep_grad)
        self.net.zero_grad()
        score = self.net(x)[0, cls]
        score.backward()
        w = self.grad.mean((2, 3), keepdim=True)
        cam = F.relu((w * self.fmap).sum(1, keepdim=True)).detach()
        cam = F.interpolate(cam, x.shape[-2:], mode="bilinear", align_corners=False)
        return (cam / (cam.max() + 1e-8)).squeeze().cpu().numpy()


def report(net, studies, out_dir):
    net = net.cuda().eval()
    cam = GradCAM(net, net.features.denseblock4)
    for study in studies:
        x = study.tensor().cuda()
        for cls in study.positive_classes():
            np.save(f"{out_dir}/{study.uid}_{cls}.npy", cam(x, cls))
