import torch
from torch import nn


class CrossScorer(nn.Module):
    def __init__(self, dim: int = 384, layers: int = 6, heads: int = 6):
        super().__init__()
        enc = nn.TransformerEncoderLayer(dim, heads, 4 * dim, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(enc, layers)
        self.out = nn.Linear(dim, 1)

    def forward(self, query: torch.Tensor, docs: torch.Tensor) -> torch.Tensor:
        x = torch.cat([query.unsqueeze(1), docs], dim=1)
        return self.out(self.body(x)[:, 1:]).squeeze(-1)
