"""What `oomph plan` says when there is no plan: one sentence, exit code 2, and the script's own words before it."""

import os
import signal
import stat
import subprocess
import sys

import pytest

FAILURES = {
    "raises": ("import torch\ntorch.zeros(1).cuda()\n{}['no such key']", "KeyError", "line 3, in <module>"),
    "exits": ("import sys\nprint('bye')\nsys.exit(3)", "the script ended itself: exit code 3", "bye\n"),
    "exits_with_words": ("import sys\nsys.exit('no data in x/')", "the script ended itself: no data in x/", ""),
    "usage": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--data', required=True)\nparser.parse_args()",
        "the script ended itself: exit code 2",
        "the following arguments are required: --data",
    ),
    "no_cuda": ("print('no torch')", "without using CUDA", ""),
    "syntax": ("def (:", "SyntaxError", "job.py"),
    "no_module": ("import torch, nosuchmodule", "No module named 'nosuchmodule'", "(--python PATH)"),
    # PyTorch raises again what a worker raised, with the worker's whole traceback as the text.
    "worker_raises": (
        "import torch\nfrom torch.utils.data import DataLoader\ntorch.zeros(1).cuda()\n"
        "next(iter(DataLoader([1, {}], batch_size=2, num_workers=1, collate_fn=lambda two: {}['no such key'])))",
        "the script failed: KeyError: 'no such key'",
        "in DataLoader worker process 0",
    ),
    "dies": ("import os, torch\ntorch.zeros(1).cuda()\nos.abort()", "ended before its time", "job.py\", line 3"),
    "leaves": ("import os\nos._exit(4)", "the script ended itself: exit code 4", ""),
    "asks": ("name = input('which data set? ')", "EOFError", "pipe the answers in"),
    "needs_a_launcher": ("import os\nos.environ['LOCAL_RANK']", "LOCAL_RANK", "torchrun --nproc-per-node"),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_scripts_that_fail_keep_their_own_words(oomph, script, failure):
    text, message, evidence = failure
    code, out, err = oomph("plan", script(text))
    assert (code, out) == (2, "")
    [sentence] = [line for line in err.splitlines() if line.startswith("error: ")]
    assert message in sentence and evidence in err and err.splitlines()[-1].startswith("hint: ")
    assert "Traceback" not in err or "site-packages/oomph/" not in err


def test_a_script_that_never_steps_is_planned(script, planned):
    text = (
        "import torch\nnet = torch.nn.Linear(8, 8).cuda()\ntorch.optim.SGD(net.parameters())\n"
        "net(torch.ones(1, 8).cuda()).sum().backward()"
    )
    assert planned(script(text))["steps"] == 0


def test_an_interpreter_without_torch(oomph, script, tmp_path):
    import venv

    venv.create(tmp_path / "bare", symlinks=True)
    code, _, err = oomph("plan", "--python", tmp_path / "bare/bin/python", script("import torch"))
    assert code == 2 and "has no torch" in err


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("'2.11.0'\nclass version: cuda = None", "for the CPU only"),
        ("'2.11.0'\nclass version: cuda = None; hip = '7.0'", "for ROCm"),
        ("'2.5.1'\nclass version: cuda = '12.4'", "too old"),
        ("'2.16.0+cu132'\nclass version: cuda = '13.2'", "too new"),
        ("'3.0.0'\nclass version: cuda = '14.0'", "too new"),
    ],
)
def test_a_torch_of_no_use(oomph, script, tmp_path, version, message):
    path = script("import torch")
    (tmp_path / "torch.py").write_text(f"__version__ = {version}")
    code, out, err = oomph("plan", path)
    assert (code, out) == (2, "") and message in err and "hint: " in err


def test_what_is_not_there(oomph, script):
    for args, message in [
        (["nowhere.py"], "there is no script nowhere.py"),
        (["--gpu", "rtx_4900", "x.py"], "did you mean rtx_4090"),
        (["--gpu", "nowhere.toml", "x.py"], "cannot read the card nowhere.toml"),
        (["--memory", "24", "x.py"], "--memory 24B leaves nothing"),
        (["--python", "/nowhere/python", script("")], "cannot start the Python interpreter"),
        (["-m", "nosuchmodule"], "No module named nosuchmodule"),
    ]:
        code, out, err = oomph("plan", *args)
        assert (code, out) == (2, "") and message in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_script_that_may_not_be_read(oomph, script):
    path = script("")
    path.chmod(0)
    code, _, err = oomph("plan", path)
    assert code == 2 and "cannot read the script" in err


def test_an_old_interpreter_says_so(oomph, script, tmp_path):
    """Stands in for one: no machine has every Python."""
    old = tmp_path / "python3"
    program = (
        'import os, sys; sys.version_info = (3, 9, 1); sys.path.insert(0, os.environ["PYTHONPATH"].split(":")[0]); '
        "import sitecustomize"
    )
    old.write_text(f"#!/bin/sh\nexec {sys.executable} -S -c '{program}' $@\n")
    old.chmod(old.stat().st_mode | stat.S_IXUSR)
    code, _, err = oomph("plan", "--python", old, script(""))
    assert code == 2 and "is Python 3.9, which is too old" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_plan_cleans_up(oomph, script, tmp_path, number):
    place = tmp_path / "tmp"
    place.mkdir()
    path = script("import time\nprint('ready', flush=True)\ntime.sleep(60)")
    words = [oomph.path, "plan", "--show-output", path]
    plan = subprocess.Popen(words, env={**os.environ, "TMPDIR": str(place)}, stderr=subprocess.PIPE, text=True)
    while plan.stderr.readline() != "ready\n":
        assert plan.poll() is None
    assert len(list(place.iterdir())) == 1
    plan.send_signal(number)
    _, err = plan.communicate(timeout=20)
    assert plan.returncode == 2 and "interrupted" in err
    assert list(place.iterdir()) == []


def test_what_a_script_prints_is_kept_off_stdout(oomph, script):
    path = script("import torch, sys\ntorch.zeros(1).cuda()\nprint('noise')\nprint('more', file=sys.stderr)")
    code, out, err = oomph("plan", path)
    assert code == 0 and "noise" not in out + err
    code, out, err = oomph("plan", "--show-output", path)
    # Besides, it says how far it is.
    said = [line for line in err.splitlines() if not line.startswith("planning ")]
    assert code == 0 and "noise" not in out and said == ["noise", "more"]
