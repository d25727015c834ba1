import torch
import torch.nn.functional as F


class SelfAttn2d(torch.nn.Module):
    """Attention over all pixels of a feature map, as in my old U-Net."""

    def __init__(self, ch, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = torch.nn.GroupNorm(32, ch)
        self.qkv = torch.nn.Conv2d(ch, ch * 3, 1)
        self.proj = torch.nn.Conv2d(ch, ch, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).unbind(1)
        scale = (c // self.heads) ** -0.5
        sim = torch.einsum("bhdi,bhdj->bhij", q * scale, k)
        attn = sim.softmax(dim=-1)
        out = torch.einsum("bhij,bhdj->bhdi", attn, v)
        return x + self.proj(out.reshape(b, c, h, w))


class TimePos(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.freq = torch.nn.Parameter(torch.randn(dim // 2))
        self.bias = torch.nn.Parameter(torch.zeros(1, dim, 64, 64))

    def forward(self, x, t):
        ang = t[:, None] * self.freq
        e = torch.cat([ang.sin(), ang.cos()], 1)[:, :, None, None]
        return x + e + self.bias.repeat(x.shape[0], 1, 1, 1)


def loss_fn(net, x0, t, noise):
    return F.mse_loss(net(x0 + noise * t[:, None, None, None], t), noise)
