"""What ranks gather from one another comes out although the others do not run."""

import pytest

HEAD = """
import os, torch, torch.distributed as dist
from torch import nn
rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
"""
JOBS = {
    "experts with uneven shares": """
        from torch.distributed._functional_collectives import all_to_all_single_autograd
        class Experts(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate, self.expert = nn.Linear(64, world_size), nn.Linear(64, 64)
            def forward(self, tokens):
                chosen = self.gate(tokens).argmax(-1)
                order, sent = chosen.argsort(), torch.bincount(chosen, minlength=world_size)
                received = torch.empty_like(sent)
                dist.all_to_all_single(received, sent)
                to, of = sent.tolist(), received.tolist()
                assert sum(to) == sum(of) == len(tokens) and min(to) > 0, (to, of)
                arrived = all_to_all_single_autograd(tokens[order], of, to, dist.group.WORLD)
                back = all_to_all_single_autograd(self.expert(arrived), to, of, dist.group.WORLD)
                return torch.zeros_like(tokens).index_copy(0, order, back)
        model = Experts().to(device)
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(4):
            model(torch.randn(4096, 64, device=device)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    """,
    "the state of an optimizer in parts": """
        from torch.distributed.optim import ZeroRedundancyOptimizer
        from torch.nn.parallel import DistributedDataParallel
        model = DistributedDataParallel(nn.Sequential(*[nn.Linear(256, 256) for _ in range(16)]).to(device))
        optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW)
        for _ in range(4):
            model(torch.randn(8, 256, device=device)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        optimizer.consolidate_state_dict(0)
        if rank == 0:
            told = optimizer.state_dict()["state"]
            assert len(told) == 32 and all(value["exp_avg"].numel() >= 256 for value in told.values())
    """,
    "the state of flat parameters": """
        from torch.distributed.fsdp import FullyShardedDataParallel
        model = FullyShardedDataParallel(
            nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)]), device_id=device, use_orig_params=True
        )
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(4):
            model(torch.randn(8, 256, device=device)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        told = FullyShardedDataParallel.optim_state_dict(model, optimizer)
        if rank == 0:
            assert len(told["state"]) == 16 and all("exp_avg" in state for state in told["state"].values())
    """,
    "numbers of all ranks": """
        counts = torch.tensor([2, 3], device=device)
        every = [torch.empty_like(counts) for _ in range(world_size)]
        dist.all_gather(every, counts)
        total, most = counts.clone(), counts.clone()
        dist.all_reduce(total)
        dist.all_reduce(most, dist.ReduceOp.MAX)
        sizes = torch.stack(every).sum(0).tolist()
        assert (sizes, total.tolist(), most.tolist()) == ([2 * world_size, 3 * world_size],) * 2 + ([2, 3],)
        torch.empty(sizes, device=device)
    """,
}


@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize("name", JOBS)
def test_the_others_are_taken_to_be_like_this_one(planned, script, name, rank):
    path = script(HEAD + "\n".join(line[8:] for line in JOBS[name].splitlines()))
    plan = planned("--ranks", rank, "torchrun", "--nproc-per-node", "4", path)
    assert plan["outcome"] == "ok" and "raised" not in " ".join(plan["unknown"]), plan["unknown"]
