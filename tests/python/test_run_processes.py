"""Processes that a script starts by Python's and PyTorch's own means get an account and a verdict like any other."""

from running import plainly, recorded

#: Every way to start a process that trains; each runs out of memory.
TRAINERS = """
import sys
import torch
import torch.multiprocessing as multiprocessing


def train(rank):
    torch.cuda.set_per_process_memory_fraction(0.002)
    kept = []
    while True:
        kept.append(torch.empty(1 << 22, device="cuda"))


def start(how):
    if how == "torch":
        multiprocessing.spawn(train, nprocs=1)
    process = multiprocessing.get_context(how).Process(target=train, args=(0,))
    process.start()
    process.join()
    assert process.exitcode == 1


if __name__ == "__main__":
    for how in sys.argv[1:]:
        start(how)
"""


def test_a_shortage_that_multiprocessing_catches_is_one(oomph, script, tmp_path):
    path = script(TRAINERS)
    ran = recorded(oomph, tmp_path, path, "fork", "spawn", "torch")
    assert "torch.multiprocessing.spawn.ProcessRaisedException" in ran.err, ran.err
    assert (ran.code, ran.account["outcome"]) == (1, "oom")
    assert [process["outcome"] for process in ran.account["processes"]] == ["oom"] * 3
    assert ran.account["verdict"]["line"] == 1 + TRAINERS.splitlines().index(
        '        kept.append(torch.empty(1 << 22, device="cuda"))'
    )


def test_what_multiprocessing_shows_stays_the_scripts_own(oomph, script, tmp_path):
    failing = TRAINERS.replace("while True", "for _ in range(2)")
    path = script(failing.replace("def start", '    raise ValueError("no")\n\n\ndef start'))
    plain, ran = plainly(path, "fork"), recorded(oomph, tmp_path, path, "fork")
    assert "ValueError: no" in plain.err
    assert ran.err.startswith(plain.err), ran.err
    assert (ran.account["outcome"], ran.code) == ("ok", 0)
