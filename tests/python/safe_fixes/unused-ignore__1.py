"""A comment that ignores nothing, beside a sum."""

import torch

torch.manual_seed(0)
x = torch.randn(3)  # oomph: ignore
print(x.sum().item())
