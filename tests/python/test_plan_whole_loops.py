"""A script that fails after a loop that was ended early is run again with that loop run to its end."""

import pytest

TRAINED = """
    import torch
    net = torch.nn.Linear(64, 64).cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1)

    def step():
        opt.zero_grad(); net(torch.randn(8, 64).cuda()).square().mean().backward(); opt.step()
"""
HELD = """
    held = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
"""
COLLECTED = """
    for batch in range(100_000):
        step()
    with torch.no_grad():
        found = torch.zeros(1, 0).cuda()
        for at in range(300):
            found = torch.cat([found, net(torch.randn(1, 64).cuda())[:, :1]], 1)
    print(found.reshape(20, 15).shape)
"""
COUNTED = """
    seen = set()
    for batch in range(300):
        step()
        seen.add(batch * batch)
    assert len(seen) == 300, len(seen)
"""


@pytest.mark.parametrize("loops", [COLLECTED, COUNTED], ids=["collected", "counted"])
def test_what_comes_after_it_is_seen(planned, script, loops):
    plan = planned(script(TRAINED + loops + HELD))
    assert "to the end of the script" in plan["seen"]["text"] and plan["peak_allocated_bytes"] >= 1 << 30
    runs = {loop["total"]: loop["seen"] for loop in plan["seen"]["loops"]}
    assert runs[300] == 300, "the loop that was needed"
    assert runs.get(100_000, 0) < 100, "and no other"


def test_two_loops_are_found_one_after_the_other(planned, script):
    plan = planned(script(TRAINED + COUNTED + COUNTED.replace("300", "200") + HELD))
    assert [loop["seen"] for loop in plan["seen"]["loops"]] == [300, 200]
    assert "to the end of the script" in plan["seen"]["text"]


def test_a_loop_that_is_not_the_last_is_found(planned, script):
    after = """
    for batch in range(100):
        step()
    """
    plan = planned(script(TRAINED + COUNTED.replace("    assert", after + "\n    assert") + HELD))
    assert [loop["seen"] for loop in plan["seen"]["loops"]] == [300, 100]
    assert "to the end of the script" in plan["seen"]["text"]


def test_a_script_that_fails_by_itself_is_told_as_before(planned, script):
    plan = planned(script(TRAINED + COUNTED.replace("== 300", "== 301") + HELD))
    assert "then the script failed" in plan["seen"]["text"] and plan["peak_allocated_bytes"] < 1 << 30
    assert any("a loop was ended early" in sentence for sentence in plan["unknown"])


def test_a_loop_whose_end_is_too_far_is_not_run_to_it(planned, script):
    far = COUNTED.replace("300", "100_000_000")
    plan = planned(script(TRAINED + far + HELD))
    assert "then the script failed" in plan["seen"]["text"]
    assert plan["seen"]["loops"][0]["seen"] < 100
