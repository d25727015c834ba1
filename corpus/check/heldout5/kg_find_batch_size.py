import torch
import timm


def probe(model, bs, size):
    x = torch.randn(bs, 3, size, size, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        model(x).mean().backward()
    model.zero_grad()


def biggest(model, start=1024, size=384):
    bs = start
    while True:
        try:
            probe(model, bs, size)
            return bs
        except RuntimeError as err:
            if "CUDA out of memory" in err.args[0]:
                bs = bs // 2
                print("trying", bs)
            else:
                raise


def main():
    for name in ["convnext_base", "swin_base_patch4_window12_384", "eva02_large_patch14_448"]:
        m = timm.create_model(name).cuda().train()
        print(name, biggest(m, size=m.pretrained_cfg["input_size"][-1]))
        del m


if __name__ == "__main__":
    main()
