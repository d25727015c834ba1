"""Mixed precision by full names, on the CPU: the blocks really compute in bfloat16."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 4)


@torch.cpu.amp.autocast()
def forward(x):
    return model(x)


for step in range(3):
    x = torch.randn(16, 8)
    with torch.cpu.amp.autocast(True, dtype=torch.bfloat16):
        half = model(x)
    with torch.cpu.amp.autocast(enabled=False):
        full = model(x)
    print(step, half.dtype, full.dtype, forward(x).dtype, f"{half.float().sum().item():.6f}", f"{full.sum().item():.6f}")

scaler = torch.cuda.amp.GradScaler(
    init_scale=2.0,
    growth_interval=10,
)
print(scaler.state_dict())
