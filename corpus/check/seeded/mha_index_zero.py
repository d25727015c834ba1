from torch import nn


class CrossBlock(nn.Module):
    def __init__(self, dim, n):
        super().__init__()
        self.attn = nn.MultiheadAttention(embed_dim=dim, num_heads=n)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, ctx, mask=None):
        y = self.attn(self.norm(x), ctx, ctx, key_padding_mask=mask)[0]
        return x + y
