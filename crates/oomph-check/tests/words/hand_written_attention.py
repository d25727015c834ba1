from torch import einsum, nn

class CrossAttention(nn.Module):
    def forward(self, q, k, v):
        sim = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        attn = sim.softmax(dim=-1)  # <-
        return einsum("b h i j, b h j d -> b h i d", attn, v)
