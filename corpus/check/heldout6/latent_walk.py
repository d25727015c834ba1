"""Render a walk through latent space as a video for the gallery screen."""
import torch
from torchvision.io import write_video


def slerp(a, b, t):
    w = torch.acos((a / a.norm() * b / b.norm()).sum().clamp(-1, 1))
    return (torch.sin((1 - t) * w) * a + torch.sin(t * w) * b) / torch.sin(w)


def film(G, keys, per=60):
    G = G.to("cuda")
    G.eval()  # no gradients from here on
    reel = None
    for a, b in zip(keys, keys[1:]):
        for t in torch.linspace(0, 1, per):
            img = G(slerp(a, b, t).cuda()[None])
            reel = img if reel is None else torch.cat([reel, img], dim=0)
    return reel


def main():
    state = torch.load("g_ema.pt", map_location="cuda")
    from nets import Generator

    G = Generator(**state["cfg"])
    G.load_state_dict(state["g_ema"])
    keys = torch.randn(8, state["cfg"]["z_dim"])
    reel = film(G, keys)
    frames = ((reel.detach() + 1) * 127.5).byte().permute(0, 2, 3, 1).cpu()
    write_video("walk.mp4", frames, fps=30)


main()
