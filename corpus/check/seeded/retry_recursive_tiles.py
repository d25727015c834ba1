import torch


class Upscaler:
    def __init__(self, net):
        self.net = net.half().cuda().eval()

    @torch.inference_mode()
    def upscale(self, img, tile=1024):
        try:
            return torch.cat([self.net(t.cuda().half()).cpu() for t in img.split(tile, dim=-1)], dim=-1)
        except torch.OutOfMemoryError as e:
            print("OOM with tile", tile, "->", tile // 2)
            if tile <= 64:
                raise
            torch.cuda.empty_cache()
            return self.upscale(img, tile // 2)
