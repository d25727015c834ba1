"""`oomph top` on real terminals, in pipes, and next to a job that `oomph run` runs on a hollow card."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import pytest
import running
from hollow_card import card, hollow_environment
from terminal import Terminal

SIZES = [(40, 10), (80, 24), (200, 50)]
JOB = """
    import os, sys, time, torch

    model = torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    kept = []
    while not os.path.exists(sys.argv[1]):
        loss = model(torch.randn(256, 4096, device="cuda")).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if len(sys.argv) > 2:
            kept.append(torch.empty(int(sys.argv[2]), dtype=torch.uint8, device="cuda"))
        time.sleep(0.02)
"""


@pytest.fixture
def machine(tmp_path):
    """The environment of everything on one hollow machine: cards are shared, jobs are the test's own."""
    boxes = tmp_path / "boxes"
    boxes.mkdir(mode=0o700)
    shared = {"OOMPH_BOXES": str(boxes), "OOMPH_HOLLOW_LEDGER": str(tmp_path / "ledger"), "TMPDIR": str(tmp_path)}
    return {**hollow_environment([card("h200"), card("h200")]), **shared}


@pytest.fixture
def job(oomph, machine, script, tmp_path):
    """Starts a job and ends it with the test; returns its process."""
    with contextlib.ExitStack() as stack:

        def start(*words):
            done = tmp_path / "done"
            path = script(JOB, "train.py")
            process = running.start(oomph, tmp_path, path, done, *words, environment=machine)
            stack.callback(process.wait, 60)
            stack.callback(done.touch)
            return process

        yield start


def look(oomph, machine, *words):
    done = subprocess.run([oomph.path, "top", *words], env=machine, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def scene_of(oomph, machine, is_so):
    """Looks until the test's job is as wanted; other jobs of this user are left out."""
    end = time.monotonic() + 60
    while True:
        scene = json.loads(look(oomph, machine, "--json"))
        scene["jobs"] = [job for job in scene["jobs"] if machine["TMPDIR"] in " ".join(job["command"])]
        if is_so(scene):
            return scene
        assert time.monotonic() < end, json.dumps(scene, indent=1)
        time.sleep(0.3)


def choose_job(terminal, machine):
    """Leaves no other job on the screen."""
    terminal.wait_for("JOB")
    terminal.press(f"/{os.path.basename(machine['TMPDIR'])}\r")
    terminal.wait_for("train.py", "running")


def steps(scene):
    return sum(process["step"] for job in scene["jobs"] for process in job["processes"])


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_terminal_of_any_size(oomph, machine, columns, rows):
    with Terminal([oomph.path, "top"], columns, rows, machine) as terminal:
        terminal.wait_for("oomph top", "JOB", "quit")
        assert "139.80GiB" in terminal.text()
        terminal.press("h")
        terminal.wait_for("Ctrl-C")
        terminal.press("x")
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.is_given_back()


def test_a_terminal_that_changes_its_size(oomph, machine):
    with Terminal([oomph.path, "top"], 40, 10, machine) as terminal:
        terminal.wait_for("oomph top")
        assert "driver" not in terminal.text()
        terminal.resize(200, 50)
        terminal.wait_for("driver 580.95.05", "50 of 700W")
        for columns, rows in [(1, 1), (5, 2), (300, 3), (80, 24)]:
            terminal.resize(columns, rows)
            time.sleep(0.2)
            terminal.read()
        terminal.wait_for("oomph top", "quit")
        terminal.press("q")
        assert terminal.end() == 0 and terminal.is_given_back()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_give_the_terminal_back(oomph, machine, number):
    with Terminal([oomph.path, "top"], environment=machine) as terminal:
        terminal.wait_for("oomph top")
        os.kill(terminal.pid, number)
        assert terminal.end() == 0 and terminal.is_given_back()


@pytest.mark.parametrize("how", ["key", "signal"])
def test_the_shell_gets_the_terminal_while_it_is_stopped(oomph, machine, how):
    with Terminal([oomph.path, "top"], environment=machine) as terminal:
        terminal.wait_for("oomph top")
        terminal.press("\x1a") if how == "key" else os.kill(terminal.pid, signal.SIGTSTP)
        terminal.wait_for_state("T")
        assert terminal.is_given_back()
        drawn = len(terminal.printed)
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.wait_until(lambda: b"oomph top" in terminal.printed[drawn:])
        assert not terminal.is_given_back()
        terminal.press("q")
        assert terminal.end() == 0 and terminal.is_given_back()


def test_terminals_without_unicode_and_colour(oomph, machine):
    with Terminal([oomph.path, "top"], environment={**machine, "LC_ALL": "C", "NO_COLOR": "1"}) as terminal:
        terminal.wait_for("oomph top", "quit")
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.printed.isascii()
        styles = {code for style in re.findall(rb"\x1b\[([0-9;]*)m", terminal.printed) for code in style.split(b";")}
        assert styles <= {b"", b"0", b"1", b"7", b"22", b"27", b"39", b"49", b"59"}, styles


def test_a_dumb_terminal_gets_a_table(oomph, machine):
    with Terminal([oomph.path, "top"], environment={**machine, "TERM": "dumb"}) as terminal:
        assert terminal.end() == 0
        assert b"139.80GiB" in terminal.printed and b"\x1b" not in terminal.printed


def test_no_driver_is_said(oomph, machine):
    plain = {name: value for name, value in machine.items() if not name.startswith("LD_")}
    if json.loads(look(oomph, plain, "--json"))["driver"]["problem"] is None:
        pytest.skip("this machine has a driver")
    assert "there is no NVIDIA driver on this machine" in look(oomph, plain)


def test_cards_are_shared_by_processes(oomph, machine, tmp_path, job):
    process = job()
    scene = scene_of(oomph, machine, lambda scene: steps(scene) > 3)
    [found] = scene["jobs"]
    [inside] = found["processes"]
    [device] = inside["devices"]
    assert (found["status"], found["pid"], device["card"]) == ("running", process.pid, 0)
    # Weights, gradients and two states of Adam: 4 x 128 MiB, more or less.
    assert 250 << 20 < device["allocated_bytes"] <= device["allocated_peak_bytes"] <= device["reserved_peak_bytes"]
    assert device["used_bytes"] == scene["cards"][0]["memory"]["used_bytes"] > device["reserved_bytes"]
    assert scene["cards"][1]["memory"]["used_bytes"] == 0
    assert device["left_bytes"] == scene["cards"][0]["memory"]["free_bytes"]
    assert device["forecast"] is None
    [on_card] = [one for one in scene["processes"] if one["cards"]]
    assert on_card["pid"] == inside["pid"] and on_card["job"] == found["id"] and on_card["is_own"]
    assert on_card["cards"][0]["used_bytes"] == device["used_bytes"]
    shares = {share["name"]: share["bytes"] for share in inside["inside"]["categories"]}
    assert shares["parameters"] == 2 * (4096 * 4096 + 4096) * 4
    assert shares["optimizer"] >= 2 * shares["parameters"]
    assert any(line["file"].endswith("train.py") for line in inside["inside"]["lines"])
    assert found["host"]["resident_bytes"] > 100 << 20


def test_a_job_has_a_page(oomph, machine, job):
    job()
    scene_of(oomph, machine, lambda scene: steps(scene) > 3)
    with Terminal([oomph.path, "top"], 120, 50, machine) as terminal:
        choose_job(terminal, machine)
        terminal.press("\r")
        terminal.wait_for("cuda:0 (card 0)", "CATEGORIES", "parameters", "train.py:", "host: resident", "steps/min")
        terminal.press("\x1b")
        terminal.wait_for("COMMAND")
        terminal.press("q")
        assert terminal.end() == 0


def test_a_steady_rise_is_foreseen(oomph, machine, job):
    job(64 << 20)
    has_forecast = lambda scene: any(  # noqa: E731
        device["forecast"] for one in scene["jobs"] for process in one["processes"] for device in process["devices"]
    )
    scene = scene_of(oomph, machine, has_forecast)
    forecast = scene["jobs"][0]["processes"][0]["devices"][0]["forecast"]
    assert 60 << 20 < forecast["bytes_per_step"] < 70 << 20
    left = scene["jobs"][0]["processes"][0]["devices"][0]["left_bytes"]
    assert abs(forecast["steps_left"] * forecast["bytes_per_step"] - left) < left / 5


def test_an_ended_job_stays_and_a_dead_one_is_said_to_be(oomph, machine, job):
    process = job()
    running_scene = scene_of(oomph, machine, lambda scene: steps(scene) > 3)
    os.kill(running_scene["jobs"][0]["processes"][0]["pid"], signal.SIGKILL)
    process.wait(60)
    scene = scene_of(oomph, machine, lambda scene: scene["jobs"][0]["status"] != "running")
    assert scene["jobs"][0]["status"] == "killed"
    assert scene["cards"][0]["memory"]["used_bytes"] == 0
    assert not [one for one in scene["processes"] if one["cards"]]
    assert "killed" in look(oomph, machine)


def test_only_what_was_confirmed_is_ended(oomph, machine, job):
    process = job()
    scene_of(oomph, machine, lambda scene: steps(scene) > 3)
    with Terminal([oomph.path, "top"], environment=machine) as terminal:
        choose_job(terminal, machine)
        terminal.press("K")
        terminal.wait_for("--allow-kill")
    with Terminal([oomph.path, "top", "--allow-kill"], environment=machine) as terminal:
        choose_job(terminal, machine)
        terminal.press("K")
        terminal.wait_for(f"End process {process.pid}")
        terminal.press("n")
        terminal.press("K")
        terminal.wait_for(f"End process {process.pid}")
        assert process.poll() is None
        terminal.press("y")
        terminal.wait_for("asked process")
        process.wait(60)
        assert process.returncode != 0


def test_what_was_recorded_is_shown_again(oomph, machine, tmp_path):
    seen = tmp_path / "seen.jsonl.zst"
    with Terminal([oomph.path, "top", "--record", seen, "--interval", "0.2"], environment=machine) as terminal:
        terminal.wait_for("oomph top")
        time.sleep(1)
        terminal.press("q")
        assert terminal.end() == 0
    scenes = [json.loads(line) for line in look(oomph, machine, "--replay", seen, "--json", "--watch").splitlines()]
    assert len(scenes) >= 3 and all(scene["format"] == 1 for scene in scenes)
    elsewhere = {name: value for name, value in machine.items() if not name.startswith(("LD_", "OOMPH_"))}
    assert "H200" in look(oomph, elsewhere, "--replay", seen)
    with Terminal([oomph.path, "top", "--replay", seen, "--interval", "0.1"], environment=elsewhere) as terminal:
        terminal.wait_for("end of the recording")
        terminal.press("q")
        assert terminal.end() == 0


def test_a_watcher_gets_a_line_a_look_and_may_go(oomph, machine):
    command = [oomph.path, "top", "--json", "--watch", "--interval", "0.1"]
    with subprocess.Popen(command, env=machine, stdout=subprocess.PIPE, text=True) as watching:
        first, second = (json.loads(watching.stdout.readline()) for _ in range(2))
        assert second["at_us"] > first["at_us"]
        watching.stdout.close()
        assert watching.wait(10) == 0


def test_hostile_boxes_and_jobs_cost_nothing_but_themselves(oomph, machine):
    boxes = machine["OOMPH_BOXES"]
    for name, record in [("a", "{}"), ("b", "nonsense"), ("c", '{"pid": 1, "command": ["\\u001b[2J"], "name": "x"}')]:
        folder = os.path.join(boxes, name)
        os.mkdir(folder)
        with open(os.path.join(folder, "job.json"), "w") as file:
            file.write(record)
        for number, content in enumerate([b"", b"x" * 5000, os.urandom(2 << 20)]):
            with open(os.path.join(folder, f"{number}.box"), "wb") as file:
                file.write(content)
    assert {"a", "c"} == {job["id"] for job in json.loads(look(oomph, machine, "--json"))["jobs"]} & {"a", "b", "c"}
    assert "\x1b" not in look(oomph, machine)


def test_a_recording_of_another_kind_is_refused(oomph, tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("{}\n")
    code, out, err = oomph("top", "--replay", path)
    assert (code, out) == (2, "") and "notes.jsonl" in err and "oomph top --record" in err
    code, _, err = oomph("top", "--replay", tmp_path / "none")
    assert code == 2 and "none" in err
