# --- bad
import math
import torch
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        weights = F.softmax(scores, dim=-1)
        return torch.matmul(weights, v)
# --- good
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)
# --- bad
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.masked_fill(self.mask == 0, float('-inf'))
        attn = attn.softmax(dim=-1)
        attn = self.drop(attn)
        return self.proj(attn @ v)
# --- good
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.p if self.training else 0.0)
        return self.proj(out)
# --- bad
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, q, k, v):
        weights = self.softmax(torch.einsum('bhid,bhjd->bhij', q, k) * self.scale)
        self.last_weights = weights
        return torch.einsum('bhij,bhjd->bhid', weights, v)
# --- good
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, scale=self.scale)
# --- bad
import math
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, x, mask):
        q, k, v = self.q(x), self.k(x), self.v(x)
        k = k.transpose(1, 2)
        scores = torch.bmm(q, k)
        scores /= math.sqrt(q.size(-1))
        scores[mask] = float('-inf')
        return torch.bmm(scores.softmax(-1), v)
# --- good
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def forward(self, x, mask):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=~mask)
# --- silent
import torch
from torch import nn

class Critic(nn.Module):
    def forward(self, x, agent):
        queries = self.query(x[:, agent]).unsqueeze(1)
        scores = torch.bmm(queries, self.key(x).transpose(1, 2))
        weights = torch.softmax(scores, dim=-1)
        return torch.bmm(weights, self.value(x))
# --- silent
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1)
        scores += self.relative_position(q)
        return scores.softmax(-1) @ v
# --- silent
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        weights = torch.softmax(q @ k.transpose(-2, -1), -1)
        self.weights_seen = weights
        return weights @ v

def show(module):
    print(module.weights_seen)
# --- silent
import torch
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        weights = F.softmax(q @ k.transpose(-2, -1), dim=-1)
        return weights @ v, weights
# --- silent
import torch
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        self.weights = F.softmax(q @ k.transpose(-2, -1), dim=-1)
        return self.weights @ v
# --- silent
import torch
from torch import nn

class ChannelAttention(nn.Module):
    def forward(self, q, k, v):
        attn = (q @ k.transpose(-2, -1)) * self.temperature
        return attn.softmax(dim=-1) @ v
# --- silent
import torch
from torch import nn

class Mixture(nn.Module):
    def forward(self, x):
        gate = self.gate(x).softmax(dim=-1)
        return gate @ self.experts
# --- silent
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, q, k, v):
        if hasattr(torch.nn.functional, 'scaled_dot_product_attention'):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return (q @ k.transpose(-2, -1)).softmax(-1) @ v
