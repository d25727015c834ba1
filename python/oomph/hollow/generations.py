"""Says where PyTorch was not built for the card that a plan is for.

What depends on the generation of a card is chosen by the user's own libraries, which ask the card for its compute
capability: workspaces, attention kernels, engines of cuDNN. But a build has kernels for some generations only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from types import ModuleType


def install(torch: ModuleType, note: Callable[[str], None]) -> None:
    """Looks once PyTorch starts to use a card."""

    def look() -> None:
        built = torch.cuda.get_arch_list()
        for device in range(torch.cuda.device_count()):
            if built and not has_kernels(built, torch.cuda.get_device_capability(device)):
                note(_sentence(torch, device, built))

    torch.cuda._lazy_call(look)


def has_kernels(built: Iterable[str], capability: tuple[int, int]) -> bool:
    """Whether one of `sm_80`, `compute_120` and the like runs on a card: code for its own generation and not a later
    version of it, or code for the driver's compiler."""
    major, minor = capability
    for kind, name in re.findall(r"(sm|compute)_(\d+)", " ".join(built)):
        of_major, of_minor = divmod(int(name), 10)
        is_code = kind == "sm" and of_major == major and of_minor <= minor
        if is_code or (kind == "compute" and (of_major, of_minor) <= (major, minor)):
            return True
    return False


def _sentence(torch: ModuleType, device: int, built: list[str]) -> str:
    major, minor = torch.cuda.get_device_capability(device)
    return (
        f"torch {torch.__version__} has no kernels for the {torch.cuda.get_device_name(device)} (sm_{major}{minor}), only "
        f"for {', '.join(built)}: on such a card the job needs another build of PyTorch, which may take other workspaces"
    )
