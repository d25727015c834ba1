import torch


class GradCam:
    def __init__(self, net, layer):
        self.net = net.cuda().eval()
        self.kept = None
        self.handle = layer.register_forward_hook(self._keep)

    def _keep(self, module, args, output):
        self.kept = output

    def __call__(self, image, cls):
        score = self.net(image.cuda())[0, cls]
        (grad,) = torch.autograd.grad(score, self.kept)
        cam = (grad.mean((2, 3), keepdim=True) * self.kept).sum(1).relu()
        self.kept = None
        return cam.detach().cpu()

    def close(self):
        self.handle.remove()
