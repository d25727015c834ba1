"""What the peak is made of, against the model's own arithmetic: elements times bytes, nothing more."""

import pytest

#: One job; its argument is Python that changes it. Activations are small, so that the peak lies in the optimizer's step.
JOB = """
    import sys
    import torch
    from torch import nn

    net = nn.Sequential(nn.Embedding(1000, 256), nn.Linear(256, 777), nn.LayerNorm(777), nn.Linear(777, 256),
                        nn.Linear(256, 1000, bias=False)).cuda()
    make_optimizer, dtype, scaler = torch.optim.AdamW, None, torch.amp.GradScaler("cuda", enabled=False)
    exec(sys.argv[1])
    optimizer = make_optimizer([weight for weight in net.parameters() if weight.requires_grad])
    for step in range(3):
        with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
            loss = net(torch.zeros(4, dtype=torch.long, device="cuda")).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        # Gradients stay, as they do in a loop that sets them to zero.
        optimizer.zero_grad(set_to_none=False)
"""
EMBEDDING = HEAD = 1000 * 256
BODY = (256 * 777 + 777) + (777 + 777) + (777 * 256 + 256)
ALL = EMBEDDING + BODY + HEAD
#: A step counter of one float32 for each of the eight tensors, where the optimizer keeps them on the card.
COUNTERS = 8 * 4

#: What changes; bytes of parameters, gradients, and optimizer state.
MODELS = {
    "adamw": ("", 4 * ALL, 4 * ALL, 8 * ALL),
    "tied_weights": ("net[4].weight = net[0].weight", 4 * (ALL - HEAD), 4 * (ALL - HEAD), 8 * (ALL - HEAD)),
    "frozen": ("net[0].requires_grad_(False)", 4 * ALL, 4 * (ALL - EMBEDDING), 8 * (ALL - EMBEDDING)),
    "bf16": ("net.bfloat16()", 2 * ALL, 2 * ALL, 4 * ALL),
    "amp_bf16": ("dtype = torch.bfloat16", 4 * ALL, 4 * ALL, 8 * ALL),
    "amp_fp16_scaled": ("dtype, scaler = torch.float16, torch.amp.GradScaler('cuda')", 4 * ALL, 4 * ALL, 8 * ALL),
    "fused_adam": ("make_optimizer = lambda p: torch.optim.Adam(p, fused=True)", 4 * ALL, 4 * ALL, 8 * ALL + COUNTERS),
    "sgd_momentum": ("make_optimizer = lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)", 4 * ALL, 4 * ALL, 4 * ALL),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_parts_are_the_models_own_arithmetic(planned, script, model):
    change, parameters, gradients, optimizer = model
    plan = planned(script(JOB), change)
    parts = plan["categories"]
    assert sum(parts.values()) == plan["peak_allocated_bytes"]
    assert (parts["parameters"], parts["gradients"], parts["optimizer"]) == (parameters, gradients, optimizer)
    # Blocks are multiples of 512 bytes; what rounding adds is never counted as the model's.
    assert plan["peak_allocated_bytes"] % 512 == 0
