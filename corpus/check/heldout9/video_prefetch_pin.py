import sys

import decord
import torch
import torchvision

net = torchvision.models.video.r3d_18(weights="DEFAULT").cuda().eval()
decord.bridge.set_bridge("torch")


def clips(path, n=16):
    vr = decord.VideoReader(path)
    for s in range(0, len(vr) - n, n):
        yield vr.get_batch(range(s, s + n)).permute(3, 0, 1, 2).float().div_(255)


@torch.inference_mode()
def main():
    for path in sys.argv[1:]:
        votes = torch.zeros(400)
        for clip in clips(path):
            ready = clip.pin_memory()
            votes += net(ready[None].cuda(non_blocking=True)).softmax(-1)[0].cpu()
        print(path, votes.argmax().item())


if __name__ == "__main__":
    main()
