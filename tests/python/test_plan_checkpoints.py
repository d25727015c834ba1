"""Checkpoints in a plan: found again by the script, gone afterwards, and never large on the host."""

HUGE = """
    import os, resource, torch
    from safetensors.torch import load_file, save_file

    count = 33380 << 20
    weights = {f"layer{n}": torch.empty(count // 10, dtype=torch.bfloat16, device="cuda") for n in range(10)}
    host = {"host": torch.empty(count // 4), "step": torch.tensor(7)}
    torch.save({**weights, **host}, "huge.pt")
    save_file({**weights, **host}, "huge.safetensors")
    taken = sum(os.stat(name).st_blocks * 512 for name in ("huge.pt", "huge.safetensors"))
    assert taken < 1 << 20, taken
    del weights, host
    for load in (torch.load, load_file):
        name = "huge.pt" if load is torch.load else "huge.safetensors"
        found = load(name)
        assert found["step"].item() == 7 and found["host"].numel() == count // 4
        found = {name: value.cuda() for name, value in found.items()}
        assert torch.cuda.memory_allocated() == 3 * count + 512, torch.cuda.memory_allocated()
        del found
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 << 20, "kilobytes"
"""


def test_a_checkpoint_larger_than_the_machine_costs_nothing(planned, script):
    plan = planned("--memory", "200GiB", script(HUGE))
    assert plan["peak_allocated_bytes"] == 3 * (33380 << 20) + 512


OVERWRITING = """
    import sys, torch
    from safetensors.torch import save_file
    weights = torch.ones(1000, 1000, device="cuda")
    for path in sys.argv[1:]:
        for _ in range(2):
            (save_file if path.endswith("safetensors") else torch.save)({"weights": weights}, path)
        torch.load(path)["weights"] if path.endswith("pt") else None
"""


def test_weights_that_lie_in_the_way_are_not_lost(oomph, script, tmp_path, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    files = [folder / name for folder in (tmp_path, elsewhere) for name in ("small.pt", "large.pt", "large.safetensors")]
    for file in files:
        file.write_bytes(b"trained for a week")
        if file.name.startswith("large"):
            with open(file, "ab") as end:
                end.truncate(100 << 20)
    before = {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in files}
    code, _, err = oomph("plan", script(OVERWRITING), *files, elsewhere / "new.pt")
    assert code == 0, err
    assert {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in files} == before
    assert all(file.read_bytes().startswith(b"trained for a week") for file in files)
    assert {*elsewhere.iterdir()} == {file for file in files if file.parent == elsewhere}


def test_optimizer_state_that_was_loaded_is_optimizer_state(planned, script):
    plan = planned(
        "--steps",
        "0",
        script("""
            import torch
            layer = torch.nn.Linear(2048, 2048, bias=False, device="cuda")
            optimizer = torch.optim.Adam(layer.parameters())
            layer(torch.ones(1, 2048, device="cuda")).sum().backward()
            optimizer.step()
            torch.save(optimizer.state_dict(), "optimizer.pt")
            state = torch.load("optimizer.pt", map_location="cuda")
            optimizer.load_state_dict(state)
            peak = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
        """),
    )
    # Both moments, and the count of steps, which the script put on the card too.
    assert plan["categories"]["optimizer"] == 2 * (2048 * 2048 * 4) + 4
