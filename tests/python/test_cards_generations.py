"""A plan for a card of every generation: what depends on the generation is what PyTorch's own code chooses for it."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from oomph.hollow.generations import has_kernels

#: Backends as `torch._fused_sdp_choice` numbers them.
FLASH, EFFICIENT, CUDNN = 1, 2, 3
#: `CUBLAS_WORKSPACE_CONFIG` as PyTorch has it where nobody sets it: `:4096:8` on Hopper, else `:4096:2:16:8`, in KiB.
HOPPER_KIB, OTHER_KIB = 4096 * 8, 4096 * 2 + 16 * 8
#: By card: its compute capability; the attention that PyTorch takes in half precision (flash wants sm_80, and cuDNN goes
#: first on sm_90 and sm_100); the workspace of a cuBLAS handle.
GENERATIONS = {
    "v100_16gb": ((7, 0), EFFICIENT, OTHER_KIB),
    "t4": ((7, 5), EFFICIENT, OTHER_KIB),
    "a100_80gb": ((8, 0), FLASH, OTHER_KIB),
    "rtx_3090": ((8, 6), FLASH, OTHER_KIB),
    "rtx_4090": ((8, 9), FLASH, OTHER_KIB),
    "h100_sxm": ((9, 0), CUDNN, HOPPER_KIB),
    "b200": ((10, 0), CUDNN, OTHER_KIB),
    "rtx_5090": ((12, 0), FLASH, OTHER_KIB),
}

#: Convolution, attention, products of matrices and an optimizer; it fails where PyTorch does not choose as expected.
JOB = """
    import sys

    import torch
    from torch import nn
    from torch.nn import functional as F

    major, minor, attention = map(int, sys.argv[1:])
    assert torch.cuda.get_device_capability() == (major, minor)
    half = torch.empty(2, 4, 128, 64, device="cuda", dtype=torch.float16)
    assert torch._fused_sdp_choice(half, half, half) == attention, torch._fused_sdp_choice(half, half, half)
    assert torch.cuda.is_bf16_supported(including_emulation=False) == (major >= 8)


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = nn.Conv2d(3, 64, 3, padding=1)
            self.mix = nn.Linear(64, 3 * 64)
            self.out = nn.Linear(64, 10)

        def forward(self, images):
            tokens = self.convolution(images).flatten(2).transpose(1, 2)
            query, key, value = self.mix(tokens).unflatten(2, (3, 1, 64)).permute(2, 0, 3, 1, 4)
            return self.out(F.scaled_dot_product_attention(query, key, value).squeeze(1).mean(1))


    net = Net().cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        with torch.autocast("cuda", torch.float16):
            loss = net(torch.randn(8, 3, 16, 16, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.fixture(scope="module")
def built_for():
    """What PyTorch's kernels were compiled for, such as `sm_80`."""
    asked = [sys.executable, "-c", "import torch; print(torch._C._cuda_getArchFlags())"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("card", GENERATIONS)
def test_a_plan_runs_on_every_generation(planned, script, built_for, card):
    (major, minor), attention, workspace_kib = GENERATIONS[card]
    plan = planned("--gpu", card, script(JOB), major, minor, attention)
    assert (plan["outcome"], plan["fits"], plan["steps"]) == ("ok", True, 2)
    assert plan["unmodelled"] == []
    # One handle for each of two threads: the script's and autograd's.
    assert plan["categories"]["workspace"] == 2 * workspace_kib << 10
    assert not [said for said in plan["unknown"] if "cuDNN" in said], "the user's own cuDNN answers for every card"
    warnings = [said for said in plan["unknown"] if "has no kernels for" in said or "no code for this card" in said]
    assert len(warnings) == (0 if has_kernels(built_for, (major, minor)) else 2), plan["unknown"]
    for said in warnings:
        assert f"sm_{major}{minor}" in said or "no kernel image is available" in said


def test_code_runs_on_later_versions_of_its_own_generation():
    built = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
    assert all(has_kernels(built, capability) for capability in [(7, 5), (8, 0), (8, 9), (9, 0), (10, 3), (12, 1)])
    assert not any(has_kernels(built, capability) for capability in [(6, 1), (7, 0), (11, 0)])
    assert has_kernels([*built, "compute_100"], (11, 0)), "the driver compiles it"
    assert not has_kernels([*built, "compute_120"], (11, 0))
