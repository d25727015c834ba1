"""A loop that keeps its best weights on disk, resumes from them, and evaluates them at the end."""

import argparse
import io
import pickle

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=2048)
args = parser.parse_args()

model = nn.Sequential(nn.Linear(args.width, args.width), nn.BatchNorm1d(args.width), nn.Linear(args.width, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(2):
    optimizer.zero_grad()
    model(torch.randn(8, args.width, device="cuda")).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "rng": torch.get_rng_state()}
    torch.save(state, "best.pt")
    del state

weights = sum(value.numel() * value.element_size() for value in model.state_dict().values())
for place, on_card in (("cpu", False), ("cuda", True), (None, True), ({"cuda:0": "cpu"}, False), (lambda kept, _: kept, False)):
    before = torch.cuda.memory_allocated()
    state = torch.load("best.pt", map_location=place)
    held = torch.cuda.memory_allocated() - before
    assert (held >= 3 * (weights - 50_000)) == on_card and (held == 0) != on_card, (place, held, weights)
    assert state["epoch"] == 1 and state["model"]["1.num_batches_tracked"].item() == 2
    assert state["optimizer"]["state"][0]["step"].item() == 2
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["rng"].cpu())
    del state

with open("whole.pt", "wb") as file:
    torch.save(model, file)
assert torch.load("whole.pt", weights_only=False)[0].weight.is_cuda
torch.save(model.state_dict(), "old.pt", _use_new_zipfile_serialization=False)
assert torch.load("old.pt", mmap=True, map_location="cpu")["0.weight"].shape == (args.width, args.width)
buffer = io.BytesIO()
torch.save(torch.arange(1 << 20), buffer)
buffer.seek(0)
assert torch.load(buffer)[-1].item() == (1 << 20) - 1
assert pickle.loads(pickle.dumps(model))[2].bias.is_cuda
torch.jit.script(nn.Linear(2, 2)).save("scripted.pt")
torch.jit.save(torch.jit.script(nn.Linear(2, 2)), "scripted_too.pt")
assert torch.jit.load("scripted.pt").weight.shape == (2, 2)
