"""`oomph run` is python with a recorder: what the script sees and what the world sees of it is the same."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from running import account_in, boxes_in, plainly, recorded, start

TRAINING = """
import sys, torch
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 8):
    optimizer.zero_grad()
    model(torch.randn(64, 256, device="cuda")).square().mean().backward()
    optimizer.step()
print("trained", flush=True)
"""

SELF_PORTRAIT = """
import json, os, sys, threading
import torch
shown = {
    "argv": sys.argv, "orig_argv": sys.orig_argv[1:], "file": __file__, "name": __name__, "path": sys.path, "cwd": os.getcwd(),
    "environment": {name: value for name, value in os.environ.items() if name not in ("XDG_STATE_HOME", "OOMPH_BOXES")},
    "flags": str(sys.flags), "threads": threading.active_count(), "stdin": sys.stdin.read(), "spec": str(__spec__),
    "children": __import__("subprocess").run(["env"], capture_output=True, text=True, env={"PATH": os.environ["PATH"], "A": "b"}).returncode,
    "hooks": [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__],
    "signals": [str(__import__("signal").getsignal(number)) for number in (2, 15, 10)],
}
torch.zeros(1, device="cuda")
print(json.dumps(shown))
print("to stderr", file=sys.stderr)
sys.exit(3)
"""


def test_the_script_sees_what_it_sees_under_python(oomph, script, tmp_path):
    path = script(SELF_PORTRAIT)
    plain = subprocess.run(
        [sys.executable, str(path), "--lr", "1", "-m", "x"], env=_environment(tmp_path), capture_output=True, text=True, input="typed"
    )
    ran = recorded(oomph, tmp_path, path, "--lr", "1", "-m", "x", stdin="typed")
    assert (ran.code, plain.returncode) == (3, 3), ran.err
    assert json.loads(ran.out) == json.loads(plain.stdout)
    assert ran.err.startswith("to stderr\n")


def _environment(tmp_path):
    from hollow_card import hollow_environment

    return {**hollow_environment(), "OOMPH_BOXES": str(tmp_path / "boxes"), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.mark.parametrize("ending, code", [("", 0), ("sys.exit(7)", 7), ("raise ValueError('no')", 1), ("import os; os._exit(9)", 9)])
def test_the_exit_code_is_the_scripts_own(oomph, script, tmp_path, ending, code):
    ran = recorded(oomph, tmp_path, script(TRAINING + ending))
    assert ran.code == code
    assert ran.out == "trained\n"
    if "ValueError" in ending:
        plain = plainly(tmp_path / "job.py")
        assert ran.err.startswith(plain.err), "the traceback is the script's own"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP])
def test_signals_reach_the_script_and_the_caller_sees_its_end(oomph, script, tmp_path, number):
    if number != signal.SIGKILL and signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("whoever started the tests has them ignore this signal, as nohup does, and so do their children")
    path = script(TRAINING + "import time\nwhile True: time.sleep(0.05)")
    process = start(oomph, tmp_path, path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == "trained\n"
    target = process.pid if number != signal.SIGKILL else _child(process.pid)
    os.kill(target, number)
    process.communicate(timeout=60)
    # Python turns SIGINT into an exception, and dies of the signal at its end.
    assert process.returncode == -number
    assert account_in(tmp_path)["steps"] == 8


INTERRUPTED = """
import os, signal, subprocess, sys, time
import torch
torch.zeros(1, device="cuda")
# Whoever started the tests in the background has them ignore it, and so do their children.
signal.signal(signal.SIGINT, signal.default_int_handler)
INTERRUPT = "import os, sys, time\\nwhile os.read(0, 1): time.sleep(0.003); os.kill(int(sys.argv[1]), 2)"
sender = subprocess.Popen([sys.executable, "-c", INTERRUPT, str(os.getpid())], stdin=subprocess.PIPE, bufsize=0)
heard = 0
for _ in range(300):
    try:
        sender.stdin.write(b".")
        until = time.monotonic() + 10
        while time.monotonic() < until:
            os.close(os.open(os.devnull, os.O_RDONLY))
        break
    except KeyboardInterrupt:
        heard += 1
sender.stdin.close()
print(heard)
"""


def test_no_interrupt_is_lost_while_files_are_opened(oomph, script, tmp_path):
    # What is opened is heard of in Python, where an interrupt may come as anywhere else.
    assert recorded(oomph, tmp_path, script(INTERRUPTED)).out == "300\n"


def _child(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return int(file.read().split()[0])


def test_the_account_adds_up(oomph, script, tmp_path):
    ending = "\nstats = torch.cuda.memory_stats()\nprint(stats['allocated_bytes.all.peak'], stats['reserved_bytes.all.peak'])"
    ran = recorded(oomph, tmp_path, script(TRAINING + ending))
    allocated, reserved = map(int, ran.out.splitlines()[-1].split())
    account = ran.account
    assert (account["peak_allocated_bytes"], account["peak_reserved_bytes"]) == (allocated, reserved)
    assert account["steps"] == 8
    categories = account["categories"]
    assert categories["parameters"] == categories["gradients"] == 4 * (256 * 256 + 256) * 4
    assert categories["optimizer"] == 2 * categories["parameters"]
    assert any(line["file"].endswith("job.py") for line in account["lines"])


def test_a_shortage_is_explained_in_the_exception_and_at_the_end(oomph, script, tmp_path):
    path = script("""
        import torch
        kept = []
        for step in range(100):
            kept.append(torch.empty(1 << 28, device="cuda"))
    """)
    ran = recorded(oomph, tmp_path, path, options=["--limit", "8GiB"])
    assert ran.code == 1
    assert "torch.OutOfMemoryError: CUDA out of memory." in ran.err
    assert "\noomph: leak: job.py:5 keeps 1.00GiB" in ran.err, ran.err
    assert ran.account["verdict"]["class"] == "leak"
    assert (ran.account["verdict"]["line"], ran.account["verdict"]["proof"]["fits_without"]) == (5, True)


@pytest.mark.parametrize("goes_on, verdict", [(False, "leak"), (True, "none")])
def test_a_script_that_catches_its_shortage_and_gives_up_has_run_out(oomph, script, tmp_path, goes_on, verdict):
    path = script(f"""
        import sys, torch
        model = torch.nn.Linear(8, 8).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        kept = []
        for step in range(100):
            try:
                kept.append(torch.empty(1 << 28, device="cuda"))
            except torch.OutOfMemoryError:
                kept.clear()
                if not {goes_on}:
                    print("out of memory, use a smaller batch")
                    sys.exit(1)
            model(torch.zeros(1, 8, device="cuda")).sum().backward()
            optimizer.step()
        sys.exit(1)
    """)
    ran = recorded(oomph, tmp_path, path, options=["--limit", "8GiB"])
    assert (ran.code, ran.account["verdict"]["class"]) == (1, verdict)


def test_caught_shortages_change_nothing_and_cost_little(oomph, script, tmp_path):
    path = script("""
        import time, torch
        times = []
        for _ in range(40):
            start = time.monotonic()
            try:
                torch.empty(1 << 40, device="cuda")
            except torch.OutOfMemoryError as problem:
                times.append(time.monotonic() - start)
                text = str(problem)
        print(max(times[5:]), "oomph:" in text)
    """)
    ran = recorded(oomph, tmp_path, path)
    assert ran.code == 0
    slowest, is_explained = ran.out.split()
    assert float(slowest) < 0.5 and is_explained == "False"
    assert ran.account["ooms"] == 40


def test_children_are_recorded_whatever_environment_they_get(oomph, script, tmp_path):
    script(TRAINING, "child.py")
    path = script("""
        import os, subprocess, sys
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        subprocess.run([sys.executable, "child.py"], check=True, env=clean, cwd=os.path.dirname(__file__))
        subprocess.run([sys.executable, "child.py"], check=True, cwd=os.path.dirname(__file__))
        os.execve(sys.executable, [sys.executable, os.path.join(os.path.dirname(__file__), "child.py"), "3"], clean)
    """)
    ran = recorded(oomph, tmp_path, path)
    assert (ran.code, ran.out) == (0, "trained\n" * 3), ran.err
    assert len(ran.boxes) == 3


def test_modules_programs_and_launchers(oomph, script, tmp_path):
    script(TRAINING)
    shell = script(f"cd {tmp_path} && {sys.executable} job.py 2", "launch.sh")
    ran = recorded(oomph, tmp_path, shell)
    assert (ran.code, ran.out) == (0, "trained\n"), ran.err
    process = start(oomph, tmp_path, "-m", "job", "3", cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "trained\n"), err
    assert account_in(tmp_path)["steps"] == 3
    assert len(boxes_in(tmp_path)) == 2


def test_forked_workers_do_not_write_to_their_parents_box(oomph, script, tmp_path):
    path = script("""
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Numbers(Dataset):
            def __len__(self): return 256
            def __getitem__(self, at): return torch.ones(1000) * at
        model = torch.nn.Linear(1000, 10).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for batch in DataLoader(Numbers(), batch_size=8, num_workers=4):
            optimizer.zero_grad()
            model(batch.cuda()).sum().backward()
            optimizer.step()
        print(torch.cuda.memory_stats()["allocation.all.allocated"])
    """)
    ran = recorded(oomph, tmp_path, path)
    assert ran.code == 0, ran.err
    assert ran.account["steps"] == 32
    assert len(ran.boxes) == 1


def test_a_broken_oomph_leaves_the_job_alone(oomph, script, tmp_path):
    path = script(TRAINING)
    for broken in ({"OOMPH_RECORDER_LIB": "/nowhere.so"}, {"OOMPH_RECORDER_LIB": __file__}):
        ran = recorded(oomph, tmp_path, path, environment=broken)
        assert (ran.code, ran.out) == (0, "trained\n"), ran.err
        assert "Traceback" not in ran.err


def test_without_a_place_for_boxes_there_is_still_an_account(oomph, script, tmp_path):
    """No folder can be written to: the boxes are in the memory of `oomph`."""
    nowhere = {"OOMPH_BOXES": "/proc/nowhere", "XDG_RUNTIME_DIR": "/proc/nowhere"}
    ran = recorded(oomph, tmp_path, script(TRAINING), environment=nowhere)
    assert (ran.code, ran.out) == (0, "trained\n"), ran.err


def test_two_jobs_at_once(oomph, script, tmp_path):
    path = script(TRAINING)
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    jobs = [start(oomph, folder, path, 5 + at, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for at, folder in enumerate(folders)]
    for job in jobs:
        out, err = job.communicate(timeout=120)
        assert (job.returncode, out) == (0, "trained\n"), err
    assert [account_in(folder)["steps"] for folder in folders] == [5, 6]


def test_a_recorded_trace_is_whole(oomph, script, tmp_path):
    """`--record` writes every event, also those that the box had no room for."""
    out = tmp_path / "run.oomph"
    ran = recorded(oomph, tmp_path, script(TRAINING + "print(torch.cuda.memory_stats()['allocation.all.allocated'])"), 300, options=["--record", out])
    assert ran.code == 0, ran.err
    exported = tmp_path / "run.pickle"
    code, _, err = oomph("explain", out, "--export", exported)
    assert code == 0, err
    import pickle

    traces = pickle.loads(exported.read_bytes())["device_traces"][0]
    assert sum(event["action"] == "alloc" for event in traces) == int(ran.out.splitlines()[-1])


def test_the_job_outlives_oomph(oomph, script, tmp_path):
    done = tmp_path / "done"
    path = script(TRAINING + f"import time; time.sleep(3); open({str(done)!r}, 'w').close()")
    process = start(oomph, tmp_path, path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == "trained\n"
    process.kill()
    deadline = time.monotonic() + 30
    while not done.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert done.exists()
    code, text, err = oomph("explain", "--json", boxes_in(tmp_path)[0])
    assert code == 0, err
    assert json.loads(text)["verdict"]["class"] == "none"
