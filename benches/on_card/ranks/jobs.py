"""Small jobs of FSDP2, HSDP and tensor parallel at many world sizes: rank 0 of each, on one card.

    python jobs.py NAME [BACKEND]     runs one; PyTorch's fake process group stands in for the other ranks
    python jobs.py                    lists them

The fake process group moves nothing, so any number of ranks needs one card; what the rank allocates for them is real.
"""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.utils.checkpoint import checkpoint

STEPS = 3


@dataclass(frozen=True)
class Job:
    """One job."""

    #: Ranks along each dimension: of copies, of pieces, of tensor parallel. What is 1 is left out.
    copies: int = 1
    pieces: int = 1
    tensor: int = 1
    width: int = 512
    layers: int = 6
    vocabulary: int = 8000
    batch: int = 8
    length: int = 256
    is_mixed: bool = False
    is_kept_whole: bool = False
    is_checkpointed: bool = False
    is_sequence_parallel: bool = False
    is_offloaded: bool = False
    is_made_on_meta: bool = False
    accumulated: int = 1
    optimizer: str = "adamw"
    clips: bool = False

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return self.copies * self.pieces * self.tensor


JOBS: dict[str, Job] = {
    "fsdp_2": Job(pieces=2),
    "fsdp_4_mixed": Job(pieces=4, is_mixed=True),
    "fsdp_8_checkpointed": Job(pieces=8, is_checkpointed=True, is_mixed=True, batch=16),
    "fsdp_8_kept_whole": Job(pieces=8, is_kept_whole=True),
    "fsdp_16_accumulated": Job(pieces=16, accumulated=3),
    "fsdp_16_clipped": Job(pieces=16, clips=True, is_mixed=True),
    "fsdp_32_meta": Job(pieces=32, is_made_on_meta=True, width=1024),
    "fsdp_64_fused": Job(pieces=64, optimizer="fused"),
    "fsdp_128_mixed": Job(pieces=128, is_mixed=True, width=1024),
    "fsdp_256_sgd": Job(pieces=256, optimizer="sgd", batch=4),
    "fsdp_512_checkpointed": Job(pieces=512, is_checkpointed=True, layers=12),
    "fsdp_1024_mixed": Job(pieces=1024, is_mixed=True, is_made_on_meta=True, width=1024, layers=8),
    "fsdp_1024_clipped": Job(pieces=1024, clips=True),
    "fsdp_8_offloaded": Job(pieces=8, is_offloaded=True, is_mixed=True),
    "fsdp_6_uneven": Job(pieces=6, width=480, vocabulary=7001),
    "hsdp_2x2": Job(copies=2, pieces=2),
    "hsdp_2x8_mixed": Job(copies=2, pieces=8, is_mixed=True),
    "hsdp_4x16_accumulated": Job(copies=4, pieces=16, accumulated=2),
    "hsdp_16x8_checkpointed": Job(copies=16, pieces=8, is_checkpointed=True),
    "hsdp_128x8_mixed": Job(copies=128, pieces=8, is_mixed=True, clips=True),
    "tp_2": Job(tensor=2),
    "tp_4_sequence": Job(tensor=4, is_sequence_parallel=True),
    "tp_8": Job(tensor=8, width=1024),
    "tp_8_sequence_meta": Job(tensor=8, is_sequence_parallel=True, is_made_on_meta=True, width=1024),
    "tp_8_checkpointed": Job(tensor=8, is_checkpointed=True, is_sequence_parallel=True, batch=16),
    "tp_2_fsdp_4": Job(tensor=2, pieces=4),
    "tp_8_fsdp_8_mixed": Job(tensor=8, pieces=8, is_mixed=True, is_sequence_parallel=True, width=1024),
    "tp_8_fsdp_32": Job(tensor=8, pieces=32, is_sequence_parallel=True, is_checkpointed=True),
    "tp_8_fsdp_128_meta": Job(tensor=8, pieces=128, is_mixed=True, is_made_on_meta=True, width=1024),
    "tp_4_hsdp_4x8": Job(tensor=4, copies=4, pieces=8, is_sequence_parallel=True),
}


class Attention(nn.Module):
    """Causal self-attention; its heads are those that the projections leave."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Attends."""
        batch, length, _ = hidden.shape
        layers = (self.query, self.key, self.value)
        parts = (layer(hidden).view(batch, length, -1, 32).transpose(1, 2) for layer in layers)
        attended = F.scaled_dot_product_attention(*parts, is_causal=True)
        return self.out(attended.transpose(1, 2).reshape(batch, length, -1))


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(width), Attention(width)
        self.feed_norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Applies the layer."""
        hidden = hidden + self.attention(self.attention_norm(hidden))
        return hidden + self.down(F.gelu(self.up(self.feed_norm(hidden))))


class Transformer(nn.Module):
    """A language model."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.embedding = nn.Embedding(job.vocabulary, job.width)
        self.blocks = nn.ModuleList(Block(job.width) for _ in range(job.layers))
        self.norm, self.head = nn.LayerNorm(job.width), nn.Linear(job.width, job.vocabulary)
        self.is_checkpointed = job.is_checkpointed

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The scores of each next token."""
        hidden = self.embedding(tokens)
        for block in self.blocks:
            hidden = checkpoint(block, hidden, use_reentrant=False) if self.is_checkpointed else block(hidden)
        return self.head(self.norm(hidden))


def make_mesh(job: Job) -> DeviceMesh:
    """The ranks in the dimensions that the job has."""
    named = {"copies": job.copies, "pieces": job.pieces, "tensor": job.tensor}
    used = {name: size for name, size in named.items() if size > 1}
    return init_device_mesh("cuda", tuple(used.values()), mesh_dim_names=tuple(used))


def cut_tensors(model: Transformer, mesh: DeviceMesh, job: Job) -> None:
    """Tensor parallel, with or without cutting the sequence too."""
    whole, cut = Replicate(), Shard(1)
    between = cut if job.is_sequence_parallel else whole
    column = functools.partial(ColwiseParallel, use_local_output=True)
    row = functools.partial(RowwiseParallel, output_layouts=between)
    plan = {"embedding": RowwiseParallel(input_layouts=whole, output_layouts=between)}
    plan["head"] = ColwiseParallel(input_layouts=between, output_layouts=whole)
    if job.is_sequence_parallel:
        plan["norm"] = SequenceParallel()
    parallelize_module(model, mesh, plan)
    for block in model.blocks:
        plan = {f"attention.{name}": column() for name in ("query", "key", "value")}
        plan |= {"attention.out": row(), "up": column(), "down": row()}
        if job.is_sequence_parallel:
            gather = PrepareModuleInput(input_layouts=(cut,), desired_input_layouts=(whole,))
            plan |= {"attention_norm": SequenceParallel(), "feed_norm": SequenceParallel(), "attention": gather}
            plan["up"] = ColwiseParallel(input_layouts=cut)
        parallelize_module(block, mesh, plan)


def cut_up(model: Transformer, mesh: DeviceMesh, job: Job) -> None:
    """FSDP2 or HSDP."""
    names = tuple(name for name in ("copies", "pieces") if name in (mesh.mesh_dim_names or ()))
    options: dict[str, object] = {"mesh": mesh[names], "reshard_after_forward": not job.is_kept_whole}
    if job.is_mixed:
        options["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    if job.is_offloaded:
        options["offload_policy"] = CPUOffloadPolicy()
    for block in model.blocks:
        fully_shard(block, **options)
    fully_shard(model, **options)


def make_model(job: Job) -> nn.Module:
    """The model in the pieces of rank 0."""
    mesh = make_mesh(job)
    with torch.device("meta" if job.is_made_on_meta else "cpu" if job.is_offloaded else "cuda"):
        model = Transformer(job)
    if job.tensor > 1:
        cut_tensors(model, mesh["tensor"], job)
    if job.pieces > 1:
        cut_up(model, mesh, job)
    if job.is_made_on_meta:
        model.to_empty(device="cuda")
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.02)
    return model


def make_optimizer(model: nn.Module, job: Job) -> torch.optim.Optimizer:
    """One that takes tensors in pieces beside whole ones."""
    if job.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    # Grouped arithmetic does not mix pieces and whole tensors.
    is_mixture = job.tensor > 1 and job.pieces == 1 and not job.is_sequence_parallel
    fused = job.optimizer == "fused"
    return torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused, foreach=False if is_mixture or fused else None)


def train(job: Job) -> None:
    """A few steps."""
    torch.manual_seed(0)
    model = make_model(job)
    optimizer = make_optimizer(model, job)
    for _ in range(STEPS):
        for _ in range(job.accumulated):
            tokens = torch.randint(0, job.vocabulary, (job.batch, job.length), device="cuda")
            scores = model(tokens)
            F.cross_entropy(scores.flatten(0, 1).float(), tokens.flatten()).backward()
            del scores
        if job.clips:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


def run(name: str, backend: str = "fake") -> dict[str, object]:
    """Runs a job as rank 0 and returns its peaks."""
    job = JOBS[name]
    if backend == "fake":
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=job.world_size)
    else:
        dist.init_process_group(backend, rank=0, world_size=job.world_size)
    torch.cuda.set_device(0)
    train(job)
    return {
        "job": name,
        "world_size": job.world_size,
        "allocated_bytes": torch.cuda.max_memory_allocated(),
        "reserved_bytes": torch.cuda.max_memory_reserved(),
        "card": torch.cuda.get_device_name(),
        "torch": torch.__version__,
    }


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(*JOBS, sep="\n")
    else:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29500")
        print(run(*sys.argv[1:]))
