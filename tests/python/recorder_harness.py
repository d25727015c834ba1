"""Runs programs with the recorder in them, and reads the boxes they leave."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

from building import example
from hollow_card import hollow_environment, library

#: What every recorded program of these tests begins with: the library, and a box.
PRELUDE = '''
import ctypes, os, sys

recorder = ctypes.PyDLL(os.environ["OOMPH_RECORDER_LIB"])
u64 = ctypes.c_uint64
for name, result, arguments in (
    ("open", ctypes.c_int32, [ctypes.c_char_p, u64, ctypes.c_char_p, u64]),
    ("attach", ctypes.c_int32, [ctypes.c_char_p, u64]),
    ("python", ctypes.c_int32, [ctypes.c_char_p, u64, ctypes.c_char_p]),
    ("device", None, [ctypes.c_int32, ctypes.c_char_p, u64, u64]),
    ("name", ctypes.c_uint32, [ctypes.c_char_p]),
    ("mark", None, [ctypes.c_uint32, ctypes.c_uint32]),
    ("function", ctypes.py_object, [ctypes.c_uint32]),
    ("steps", ctypes.c_int32, [ctypes.py_object] * 3),
    ("lead", None, [u64] * 3),
    ("tags", None, [ctypes.c_uint8, u64, ctypes.POINTER(u64), ctypes.POINTER(ctypes.c_uint32)]),
    ("stats", None, [ctypes.c_int32, ctypes.POINTER(u64), u64]),
    ("fact", None, [ctypes.c_char_p, u64]),
    ("question", u64, [ctypes.c_char_p, u64]),
    ("answer", ctypes.c_int32, [u64, ctypes.c_char_p, u64]),
    ("end", None, [ctypes.c_uint32, ctypes.c_int32]),
    ("host", ctypes.c_int32, [ctypes.c_int32]),
    ("counter", u64, [ctypes.c_uint32]),
    ("stack", ctypes.c_uint32, []),
):
    function = getattr(recorder, "oomph_recorder_" + name)
    function.restype, function.argtypes = result, arguments
    setattr(recorder, name, function)
recorder.state, _, recorder.phase, recorder.led_steps, before_step, after_step, run_backward = map(recorder.function, range(7))

def failing(function, *arguments):
    """Calls a function that says what its problem is; returns that, or None."""
    problem = ctypes.create_string_buffer(500)
    return problem.value.decode() if function(*arguments, problem, 500) else None

def start(bytes=48 << 20, module_call_code=0, own_folder=b""):
    problem = failing(recorder.open, os.environ["BOX"].encode(), bytes)
    assert problem is None, problem
    assert recorder.python(hex(sys.hexversion).encode(), module_call_code, own_folder) == 0

def leave(value):
    """Prints a value and is gone at once, so that the box stays what it is now."""
    import json
    print(json.dumps(value), flush=True)
    os._exit(0)

def start_on_card(before=print, after=print, **options):
    import torch
    torch.cuda.init()
    start(module_call_code=id(torch.nn.Module.__call__.__code__), **options)
    problem = failing(recorder.attach)
    assert problem is None, problem
    assert recorder.steps(torch.autograd._engine_run_backward, before, after) == 0
    torch.autograd._engine_run_backward = run_backward
    return torch
'''


def read_box(path, *stacks):
    """Everything in a box, and the stacks with these numbers."""
    command = [example("show_box"), path, *map(str, stacks)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Recorded:
    """A program that ran with the recorder in it."""

    def __init__(self, folder, text, interpreter=sys.executable, hollow=True, expect_code=0, **environment):
        self.script = folder / "program.py"
        self.script.write_text(PRELUDE + textwrap.dedent(text))
        self.path = folder / f"{len(list(folder.glob('*.box')))}.box"
        environment |= {"OOMPH_RECORDER_LIB": str(library("oomph-recorder")), "BOX": str(self.path)}
        environment = hollow_environment(**environment) if hollow else {**os.environ, **environment}
        command = [str(interpreter), str(self.script)]
        self.done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert self.done.returncode == expect_code, self.done.stderr

    def printed(self):
        """What it printed: one value of JSON."""
        return json.loads(self.done.stdout)

    def box(self, *stacks):
        return read_box(self.path, *stacks)

    def line(self, text):
        """The number of the one line of the program that holds a text."""
        lines = self.script.read_text().splitlines()
        [number] = [number for number, line in enumerate(lines, start=1) if text in line]
        return number
