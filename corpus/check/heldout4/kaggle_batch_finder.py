import torch
import timm


def try_bs(net, bs, size):
    x = torch.randn(bs, 3, size, size, device="cuda")
    net(x).sum().backward()
    net.zero_grad()


def find_batch_size(arch, size=512, start=512):
    """Largest batch which trains on this card."""
    net = timm.create_model(arch).cuda()
    bs = start
    while True:
        try:
            try_bs(net, bs, size)
            return bs
        except RuntimeError as err:
            if "out of memory" not in str(err):
                raise
            print(f"bs {bs} too big")
            bs = bs // 2


if __name__ == "__main__":
    for a in ("convnext_large", "vit_large_patch16_384", "swin_base_patch4_window12_384"):
        print(a, find_batch_size(a))
