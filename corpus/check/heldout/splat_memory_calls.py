import torch
from gaussian_renderer import render
from utils.loss_utils import l1_loss, ssim


def training(scene, gaussians, pipe, background, iterations, lambda_dssim=0.2):
    cams = None
    for it in range(1, iterations + 1):
        if not cams:
            cams = scene.getTrainCameras().copy()
        cam = cams.pop()
        image = render(cam, gaussians, pipe, background)["render"]
        gt = cam.original_image.cuda()
        loss = (1.0 - lambda_dssim) * l1_loss(image, gt) + lambda_dssim * (1.0 - ssim(image, gt))
        loss.backward()
        gaussians.optimizer.step()
        gaussians.optimizer.zero_grad(set_to_none=True)
        torch.empty_cache()
        if it % 500 == 0:
            print(f"[{it}] loss {loss.item():.4f}")
