import torch
import torch.nn.functional as F
from torchvision.models import resnet50


class GradCAM:
    """Keeps one activation with its graph on purpose: the gradient flows back to it."""

    def __init__(self, net, layer):
        self.net, self.layer = net, layer

    def __call__(self, x, cls):
        slot = {}

        def grab(module, inputs, output):
            slot["act"] = output

        handle = self.layer.register_forward_hook(grab)
        try:
            score = self.net(x)[0, cls]
            (grad,) = torch.autograd.grad(score, slot["act"])
        finally:
            handle.remove()
        w = grad.mean((2, 3), keepdim=True)
        cam = F.relu((w * slot["act"].detach()).sum(1))
        return (cam / cam.max()).cpu()


if __name__ == "__main__":
    net = resnet50(weights="DEFAULT").cuda().eval()
    cam = GradCAM(net, net.layer4)
    x = torch.rand(1, 3, 224, 224).cuda()
    print(cam(x, 243).shape)
