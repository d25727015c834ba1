import torch

from nets import Detector


class Service:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.ckpt = torch.load(f, map_location="cuda")
        self.net = Detector(self.ckpt["classes"])
        self.net.load_state_dict(self.ckpt["model"])
        self.net.cuda().eval()

    @torch.inference_mode()
    def __call__(self, image):
        return self.net(image[None].cuda())[0].cpu()


def main(path, images):
    service = Service(path)
    for image in images:
        print(service(image).shape)
