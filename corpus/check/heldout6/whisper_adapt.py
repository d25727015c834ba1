"""Adapt a Whisper checkpoint to call-centre audio on several cards."""
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from whisper_like import Whisper, Dims, calls_loader


def read_weights(path: Path) -> dict:
    if not path.exists():
        raise FileNotFoundError(path)
    with path.open("rb") as fh:
        return torch.load(fh, weights_only=True)


def build(path: Path, device: torch.device) -> Whisper:
    blob = read_weights(path)
    model = Whisper(Dims(**blob["dims"]))
    model.load_state_dict(blob["model_state_dict"])
    return model.to(device)


def main() -> None:
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    device = torch.device("cuda", local)
    model = DDP(build(Path("base.pt"), device), device_ids=[local], gradient_as_bucket_view=True)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for mel, tokens in calls_loader(8):
        logits = model(mel.to(device), tokens[:, :-1].to(device))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten().to(device), ignore_index=50257)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if local == 0:
        torch.save(model.module.state_dict(), "calls.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
