"""A plan changes nothing on disk, whatever happens: the user's tree, home and temporary folder are hashed around it."""

import hashlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

#: Plans that are killed; `OOMPH_KILLS=300` makes a long run of it.
KILLS = int(os.environ.get("OOMPH_KILLS", "24"))

#: Everything a job does to files, again and again, also from children and grandchildren.
BUSY = """
import os, pathlib, shutil, sqlite3, subprocess, sys, tempfile
here = pathlib.Path.cwd()
if len(sys.argv) > 1:
    here.joinpath(sys.argv[1]).write_text("from a child")
    if sys.argv[1] == "child.txt":
        subprocess.run([sys.executable, __file__, "grandchild.txt"], check=True, env={})
    sys.exit()
for turn in range(10_000):
    (here / "results").mkdir(exist_ok=True)
    (here / "results" / "log.txt").write_text(f"turn {turn}")
    (here / "config.json").write_text("changed")
    with open(here / "history.csv", "a") as file:
        file.write("more\\n")
    if (here / "data").exists():
        shutil.rmtree(here / "data")
    os.replace(here / "results" / "log.txt", here / "best.pt")
    os.chmod(here / "keep.txt", 0o600)
    pathlib.Path.home().joinpath(".settings").write_text("mine")
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"temporary")
    base = sqlite3.connect(here / "runs.db")
    base.execute("create table if not exists runs (number)")
    base.execute("insert into runs values (1)")
    base.commit()
    base.close()
    if turn % 5 == 0:
        subprocess.run([sys.executable, __file__, "child.txt"], check=True)
        subprocess.run("echo from a shell > shell.txt; mv keep.txt moved.txt; rm -f moved.txt; echo new > keep.txt", shell=True, check=True)
    if "--once" in os.environ.get("BUSY", ""):
        break
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's machine: a project, a home, a folder for temporary files."""
    for name in ("project/data/deep", "home", "tmp"):
        (tmp_path / name).mkdir(parents=True)
    project = tmp_path / "project"
    for name in ("config.json", "history.csv", "best.pt", "keep.txt", "data/a.bin", "data/deep/b.bin"):
        (project / name).write_text(f"the user's {name}")
    (project / "link").symlink_to("data")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    # What a plan keeps of itself for a real run to be compared with.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path.parent / f"{tmp_path.name}-state"))
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~root/.cache"))
    return tmp_path


def tree(folder):
    """Every name below a folder with its kind, mode, time and content; oomph's own folders are not the user's."""
    found = {}
    for path in sorted(users_own(pathlib.Path(folder))):
        name = str(path.relative_to(folder))
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else hashlib.sha1(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[name] = (status.st_mode, status.st_mtime_ns if not path.is_dir() else 0, content)
    return found


def users_own(folder):
    """Every path below a folder. Not looked into: oomph's own folders, which come and go while a plan runs."""
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(("oomph-job-", ".oomph-draft-"))]
        yield from (pathlib.Path(top, name) for name in [*folders, *files])


def start(oomph, home, script, *args, **environment):
    """Starts a plan in the project."""
    path = home / "project" / "job.py"
    path.write_text(textwrap.dedent(script))
    words = [oomph.path, "plan", "--json", "--python", sys.executable, path, *args]
    return subprocess.Popen(
        list(map(str, words)), cwd=home / "project", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, **environment}, start_new_session=True,
    )  # fmt: skip


def leftovers(home):
    return [path.name for path in (home / "tmp").iterdir()]


def test_what_a_job_and_its_children_write_is_nowhere(oomph, home):
    job = start(oomph, home, BUSY + "\nimport torch; torch.zeros(1, device='cuda')", BUSY="--once")
    before = tree(home)
    out, err = job.communicate(timeout=300)
    assert job.returncode == 0, err.decode()
    assert tree(home) == before
    assert leftovers(home) == [], "not even a folder of ours"


def test_a_plan_killed_at_any_moment_has_changed_nothing(oomph, home):
    chance = random.Random(7)
    (home / "project" / "job.py").write_text(BUSY)
    before = None
    for _ in range(KILLS):
        job = start(oomph, home, BUSY)
        os.utime(home / "project" / "job.py", ns=(0, 0))
        before = before or tree(home)
        time.sleep(chance.uniform(0.0, 1.2))
        job.kill()
        job.communicate()
        assert tree(home) == before
    # The next plan takes away what was left behind, once nobody uses it.
    job = start(oomph, home, "import sys; sys.exit(3)")
    job.communicate(timeout=60)
    assert leftovers(home) == []


def test_two_plans_at_once_and_a_writer_beside_them(oomph, home):
    script = """
    import pathlib, time, torch
    model = torch.nn.Linear(512, 512).cuda()
    for turn in range(3):
        torch.save(model.state_dict(), "best.pt")
        model.load_state_dict(torch.load("best.pt"))
        time.sleep(0.3)
    assert pathlib.Path("note.txt").read_text() == "written beside the plan"
    """
    first, second = start(oomph, home, script), start(oomph, home, script)
    (home / "project" / "note.txt").write_text("written beside the plan")
    before = tree(home)
    for job in (first, second):
        _, err = job.communicate(timeout=300)
        assert job.returncode == 0, err.decode()
    assert tree(home) == before


def test_interrupted_plans_give_the_account_so_far(oomph, home):
    script = """
    import time, torch
    model = torch.nn.Linear(512, 512).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(8, 512, device="cuda")).sum().backward()
    optimizer.step()
    open("ready", "w").close()
    print("ready", flush=True)
    time.sleep(600)
    """
    job = start(oomph, home, script, "--show-output")
    path = home / "project" / "job.py"
    job.kill()
    job.communicate()
    words = [oomph.path, "plan", "--json", "--show-output", "--python", sys.executable, path]
    before = tree(home)
    with subprocess.Popen(list(map(str, words)), cwd=home / "project", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        for line in job.stderr:
            if line.startswith("ready"):
                break
        job.send_signal(signal.SIGINT)
        out, _ = job.communicate(timeout=60)
    assert job.returncode == 0 and '"steps": 1' in out and "interrupted" in out
    assert tree(home) == before


def test_a_layer_that_grows_too_large_ends_the_plan(oomph, home):
    script = """
    with open("big.bin", "wb") as file:
        for _ in range(4096):
            file.write(b"x" * (1 << 20))
    """
    (home / "project" / "job.py").write_text(textwrap.dedent(script))
    words = [oomph.path, "plan", "--disk-limit", "64MiB", "--python", sys.executable, "job.py"]
    done = subprocess.run(list(map(str, words)), cwd=home / "project", capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "private copy of the disk" in done.stderr and "--disk-limit" in done.stderr
    assert not (home / "project" / "big.bin").exists() and leftovers(home) == []
