"""The recorder and the processes it is in: forks, kills, little room, blocks on the host, and the functions Python calls."""

import os
import signal
import subprocess
import sys
import time

import pytest
from hollow_card import hollow_environment, library
from recorder_harness import PRELUDE, Recorded, read_box


def test_a_forked_child_writes_nothing_and_may_have_a_box_of_its_own(tmp_path):
    program = '''
        torch = start_on_card()
        held = torch.empty(1000, device="cuda")
        recorder.state(7, 14, 1)
        child = os.fork()
        if child == 0:
            recorder.state(99, 99, 2)
            recorder.fact(b"{}", 2)
            assert recorder.counter(0) == 0
            os.environ["BOX"] += ".child.box"
            start(bytes=1 << 20)
            recorder.state(1, 2, 3)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        leave(child)
    '''
    recorded = Recorded(tmp_path, program)
    parent, child = recorded.box(), read_box(f"{recorded.path}.child.box")
    assert (parent["state"]["step"], parent["facts"]) == (7, [])
    assert (child["state"]["step"], child["state"]["phase"]) == (1, "Optimizer")
    assert f"pid: {recorded.printed()}," in child["process"]
    assert child["blocks"] == []


def test_the_thread_beside_a_card_hears_no_signals_and_there_is_none_before(tmp_path):
    program = '''
        def blocked(task):
            with open(f"/proc/self/task/{task}/status") as status:
                lines = dict(line.split(":", 1) for line in status)
            return lines["Name"].strip(), int(lines["SigBlk"], 16)

        def own():
            return [signals for name, signals in map(blocked, os.listdir("/proc/self/task")) if name == "oomph"]

        import torch
        torch.cuda.init()
        start()
        # Python 3.12 warns whoever forks a process of several threads.
        before = own()
        assert failing(recorder.attach) is None and failing(recorder.attach) is None
        # A thread gives itself its name.
        while not own():
            pass
        leave([before, own(), blocked(os.getpid())[1]])
    '''
    before, [beside], main = Recorded(tmp_path, program).printed()
    assert (before, main) == ([], 0)
    # All but what cannot be blocked: KILL and STOP, and two of the C library's own.
    always = {signal.SIGKILL, signal.SIGSTOP, 32, 33}
    assert all(beside >> (number - 1) & 1 for number in range(1, 65) if number not in always)


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_process_leaves_a_box_that_can_be_read(seed, tmp_path):
    program = '''
        torch = start_on_card()
        kept, step = [], 0
        print("ready", flush=True)
        while True:
            step += 1
            recorder.state(step, step, 1)
            kept.append(torch.empty(1000 + step, device="cuda"))  # grows
            torch.empty(500, device="cuda")
    '''
    script, path = tmp_path / "program.py", tmp_path / "killed.box"
    script.write_text(PRELUDE + "\n".join(line[8:] for line in program.splitlines()))
    environment = hollow_environment(OOMPH_RECORDER_LIB=str(library("oomph-recorder")), BOX=str(path))
    with subprocess.Popen([sys.executable, script], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1 + 0.173 * seed)
        process.send_signal(signal.SIGKILL)
    box = read_box(path)
    assert not box["is_alive"] and box["state"]["ended"] is None
    step = box["state"]["step"]
    [device] = box["devices"]
    kept = [block for block in box["blocks"] if block["bytes"] > 4000]
    assert abs(len(kept) - step) <= 1
    # At most the block that was just being taken or given back is counted without being there.
    one_block = (0, 4 * 500, 4 * (1000 + step))
    assert device["requested_bytes"] - sum(block["bytes"] for block in box["blocks"]) in one_block
    assert box["events"][-1]["number"] - box["events"][0]["number"] + 1 == len({it["number"] for it in box["events"]})
    [line] = [number for number, line in enumerate(script.read_text().splitlines(), start=1) if "# grows" in line]
    assert {block["stack"][0][2] for block in kept} == {line}


def test_blocks_of_cpu_tensors_are_seen_by_line(tmp_path):
    program = '''
        import torch
        start()
        before = torch.zeros(1_000_000)
        assert recorder.host(1) == 0
        grown = [torch.ones(250_000) for _ in range(4)]  # grows
        torch.empty(10_000_000)
        small = [torch.tensor(1.0) for _ in range(1000)]
        del before
        held = recorder.counter(8)
        recorder.host(0)
        unseen = torch.ones(1_000_000)
        del grown[0]
        leave([held, recorder.counter(8), recorder.counter(9)])
    '''
    recorded = Recorded(tmp_path, program, hollow=False)
    held, later, peak = recorded.printed()
    assert (held, later) == (4_000_000, 3_000_000)
    assert peak == held + 40_000_000
    box = recorded.box()
    assert [(it["device"], it["bytes"]) for it in box["blocks"]] == [(255, 1_000_000)] * 3
    assert {it["stack"][-1][2] for it in box["blocks"]} == {recorded.line("# grows")}


def test_cpu_tensors_of_many_threads_add_up(tmp_path):
    program = '''
        import threading, torch
        start()
        recorder.host(1)
        def work(index):
            for step in range(400):
                made = [torch.empty(1000 + step) for _ in range(3)]
            kept.append(torch.empty(5000))
        kept = []
        threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        leave(recorder.counter(8))
    '''
    recorded = Recorded(tmp_path, program, hollow=False)
    assert recorded.printed() == 8 * 20_000
    assert [it["bytes"] for it in recorded.box()["blocks"]] == [20_000] * 8


def test_where_there_is_little_room_the_box_is_smaller(tmp_path):
    program = '''
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (10 << 20, 10 << 20))
        start()
        recorder.fact(b'{"small": true}', 15)
        leave(os.path.getsize(os.environ["BOX"]))
    '''
    recorded = Recorded(tmp_path, program, hollow=False)
    assert recorded.printed() == 8 << 20
    assert recorded.box()["facts"] == ['{"small": true}']
    assert os.stat(recorded.path).st_mode & 0o777 == 0o600


def test_where_there_is_no_room_at_all_it_says_so_and_does_nothing(tmp_path):
    program = '''
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        problem = failing(recorder.open, os.environ["BOX"].encode(), 48 << 20)
        recorder.state(1, 1, 1)
        recorder.mark(recorder.name(b"epoch"), 0)
        recorder.fact(b"{}", 2)
        recorder.phase(2)
        recorder.end(1, 0)
        leave([problem, recorder.stack(), recorder.question(b"?", 1), os.path.exists(os.environ["BOX"])])
    '''
    problem, stack, question, exists = Recorded(tmp_path, program, hollow=False).printed()
    assert "too large" in problem
    assert (stack, question, exists) == (0, 0, False)


def test_a_file_without_a_name_can_be_a_box(tmp_path):
    program = '''
        import json
        file = os.memfd_create("box")
        os.environ["BOX"], path = f"/proc/self/fd/{file}", os.environ["BOX"]
        start(bytes=4 << 20)
        recorder.state(3, 4, 0)
        with open(os.environ["BOX"], "rb") as held, open(path, "wb") as to:
            to.write(held.read())
        leave(None)
    '''
    assert Recorded(tmp_path, program, hollow=False).box()["state"]["step"] == 3


def test_what_python_says_is_in_the_box(tmp_path):
    program = '''
        import ctypes
        torch = start_on_card()
        weight = torch.empty(1000, device="cuda")
        name = recorder.name(b"epoch")
        assert name == recorder.name(b"epoch") != recorder.name(b"other")
        recorder.mark(name, 0)
        recorder.mark(name, 1)
        recorder.state(5, 10, 2)
        recorder.device(0, bytes(range(16)), 1 << 37, 1 << 36)
        addresses = (u64 * 2)(weight.data_ptr(), 12345)
        recorder.tags(1, 2, addresses, (ctypes.c_uint32 * 2)(42, 43))
        recorder.stats(0, (u64 * 8)(*range(1, 9)), 8)
        recorder.fact(b'{"a": 1}', 8)
        # Nonsense changes nothing.
        recorder.mark(name, 77)
        recorder.state(6, 6, 66)
        recorder.tags(200, 2, addresses, None)
        recorder.stats(99, (u64 * 8)(), 8)
        recorder.device(-1, None, 1, 1)
        recorder.end(2, -6)
        leave(weight.data_ptr())
    '''
    recorded = Recorded(tmp_path, program)
    box = recorded.box()
    assert box["state"] == {"step": 5, "batches": 10, "phase": "Backward", "ended": {"how": "Some(Exception)", "exit_code": -6}}
    [device] = box["devices"]
    assert (device["uuid"], device["total_bytes"], device["limit_bytes"]) == (list(range(16)), 1 << 37, 1 << 36)
    assert (device["stats"], box["host"]["pinned_bytes"]) == (list(range(1, 9)), 8)
    [block] = [block for block in box["blocks"] if block["address"] == recorded.printed()]
    assert (block["category"], block["module"]) == ("Parameter", 42)
    marks = [event["what"] for event in box["events"] if "mark" in event["what"]]
    assert marks == [{"mark": "epoch", "stage": "Start"}, {"mark": "epoch", "stage": "End"}]
    assert box["facts"] == ['{"a": 1}']
    times = [event["time_us"] for event in box["events"]]
    assert abs(times[-1] / 1e6 - time.time()) < 600
    assert times == sorted(times)


def test_steps_of_the_optimizer_that_leads_are_counted_without_python(tmp_path):
    program = '''
        import time
        calls = []
        def before(optimizer, args, kwargs):
            calls.append(("before", args, kwargs))
        def after(optimizer, args, kwargs):
            calls.append(("after", optimizer is other))
        torch = start_on_card(before=before, after=after)
        one, other = (torch.optim.SGD([torch.ones(3, device="cuda", requires_grad=True)]) for _ in range(2))
        import importlib
        importlib.import_module("torch.optim.optimizer").register_optimizer_step_pre_hook(before_step)
        importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook(after_step)
        recorder.state(1, 1, 1)
        counted = []
        def step(optimizer):
            optimizer.step()
            counted.append((recorder.led_steps(), len(calls)))
            calls.clear()
        never = (1 << 64) - 1
        step(one)                                       # nobody leads
        recorder.lead(id(one), never, never)
        step(one)                                       # the one that leads
        step(other)                                     # another one
        recorder.lead(id(one), 0, never)
        step(one)                                       # Python wants to see what comes before, so after it, too
        recorder.lead(id(one), never, 0)
        step(one)                                       # only what comes after
        recorder.lead(id(one), never, time.monotonic_ns() + 10**12)
        step(one)
        recorder.lead(0, never, never)
        step(one)                                       # it is gone
        leave(counted)
    '''
    recorded = Recorded(tmp_path, program)
    assert recorded.printed() == [[0, 2], [1, 0], [0, 2], [0, 2], [0, 1], [1, 0], [0, 2]]
    assert recorded.box()["state"]["step"] == 3


def test_what_hooks_in_python_raise_is_raised(tmp_path):
    program = '''
        def before(optimizer, args, kwargs):
            raise KeyboardInterrupt
        torch = start_on_card(before=before)
        optimizer = torch.optim.SGD([torch.ones(3, device="cuda", requires_grad=True)])
        import importlib
        importlib.import_module("torch.optim.optimizer").register_optimizer_step_pre_hook(before_step)
        try:
            optimizer.step()
        except KeyboardInterrupt:
            leave("interrupted")
    '''
    assert Recorded(tmp_path, program).printed() == "interrupted"


def test_backward_passes_raise_and_nest_as_before(tmp_path):
    program = '''
        torch = start_on_card()
        recorder.state(1, 1, 1)
        class Inner(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x * 1
            @staticmethod
            def backward(context, gradient):
                with torch.enable_grad():
                    inside = torch.ones(2, device="cuda", requires_grad=True)
                    (inside * 2).sum().backward()
                return gradient
        x = torch.ones(2, device="cuda", requires_grad=True)
        Inner.apply(x).sum().backward()
        y = (x * 2).sum()
        y.backward()
        try:
            y.backward()
        except RuntimeError as problem:
            leave("retain_graph" in str(problem))
    '''
    recorded = Recorded(tmp_path, program)
    assert recorded.printed() is True
    assert recorded.box()["state"]["phase"] == "Forward"
