"""The recorder's walk of Python frames against what the interpreter says, in every interpreter that is installed."""

import pathlib
import shutil
import subprocess
import sys

import pytest
from recorder_harness import Recorded

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")

PROGRAM = r'''
import asyncio, functools, gc, json, threading, types

expected, numbers = [], []

def note(number, frame):
    chain = []
    while frame is not None:
        chain.append([frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno or 0])
        frame = frame.f_back
    expected.append(chain)
    numbers.append(number)

here = sys._getframe
start(own_folder=b"/not/here")

note(recorder.stack(), here())

def plain():
    note(recorder.stack(), here())

def nested(depth):
    if depth:
        return nested(
            depth - 1
        )
    note(recorder.stack(), here())

def generator():
    note(recorder.stack(), here())
    yield 1
    for _ in range(2):
        note(recorder.stack(), here()); yield 2

def delegating():
    yield from generator()

async def coroutine():
    note(recorder.stack(), here())
    await asyncio.sleep(0)
    note(recorder.stack(), here())

class Body:
    note(recorder.stack(), here())

    def method(self):
        return [note(recorder.stack(), here()) for _ in range(2)]

    @property
    def value(self):
        note(recorder.stack(), here())

    def __enter__(self):
        note(recorder.stack(), here())

    def __exit__(self, *_):
        note(recorder.stack(), here())

    def __del__(self):
        note(recorder.stack(), here())

    def __eq__(self, other):
        note(recorder.stack(), here())
        return True

def closure():
    held = 1
    def inner():
        nonlocal held
        held += 1
        note(recorder.stack(), here())
    inner()

def catching():
    try:
        raise ValueError
    except ValueError:
        note(recorder.stack(), here())
    finally:
        plain()

def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)
    return wrapper

@decorated
def with_many_arguments(*arguments, first=1, **rest):
    if arguments:
        with_many_arguments()
    note(recorder.stack(), here())

plain()
nested(5)
nested(120)
list(generator())
list(delegating())
(lambda: note(recorder.stack(), here()))()
[note(recorder.stack(), here()) for _ in range(2)]
{key: note(recorder.stack(), here()) for key in range(2)}
list(note(recorder.stack(), here()) for _ in range(2))
list(map(lambda _: note(recorder.stack(), here()), range(2)))
sorted([2, 1], key=lambda _: note(recorder.stack(), here()) or 0)
exec("def of_text():\n\n  note(recorder.stack(), here())\nof_text()")
eval("note(recorder.stack(), here())")
exec(compile("\n\nnote(recorder.stack(), here())", "ein-größerer-名前-😀.py", "exec"))
exec(compile("def größe():\n note(recorder.stack(), here())\ngröße()", "été.py", "exec"))
for line in range(40):
    exec(compile("\n" * line + "note(recorder.stack(), here())", "<again>", "exec"))
asyncio.run(coroutine())
body = Body()
body.method(); body.value
with body:
    plain()
body == body
del body
gc.collect()
closure()
catching()
with_many_arguments(1, 2, third=3)
exec("\n" * 5000 + "plain()")
exec("pass\n" * 20000 + "plain()")
threads = [threading.Thread(target=nested, args=(depth,)) for depth in (0, 3, 30)]
for thread in threads:
    thread.start(); thread.join()

def traced(frame, event, argument):
    return traced
sys.settrace(traced)
plain()
nested(3)
sys.settrace(None)

print(json.dumps([numbers, expected]))
'''


def interpreter(version):
    """The interpreter of a version: this one, one on the path, pyenv's or uv's."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    home = pathlib.Path.home()
    folders = [home / ".pyenv" / "versions", home / ".local" / "share" / "uv" / "python"]
    places = [path for folder in folders for path in sorted(folder.glob(f"*{version}.*/bin/python{version}"))]
    found = [str(place) for place in places] + list(filter(None, [shutil.which(f"python{version}")]))
    for path in found:
        says = subprocess.run([path, "-c", "import ctypes"], capture_output=True)
        if says.returncode == 0:
            return path
    pytest.skip(f"no Python {version} is installed")


@pytest.mark.parametrize("version", VERSIONS)
def test_stacks_are_what_the_interpreter_says(version, tmp_path):
    recorded = Recorded(tmp_path, PROGRAM, interpreter=interpreter(version), hollow=False)
    numbers, expected = recorded.printed()
    assert len(numbers) > 80
    found = recorded.box(*numbers)["stacks"]
    for stack, said in zip(found, expected, strict=True):
        assert [frame[:3] for frame in stack] == said


@pytest.mark.parametrize("version", VERSIONS)
def test_modules_are_told_by_their_call(version, tmp_path):
    program = '''
        import json

        class Module:
            def __call__(self, *arguments):
                return self.forward(*arguments)

        class Captured:
            def __call__(self, *arguments):
                def inner():
                    return self
                return self.forward(*arguments)

        class Leaf:
            def forward(self):
                return recorder.stack()

        class Root:
            def __init__(self, child):
                self.child = child
            def forward(self):
                return self.child()

        kind = globals()[os.environ["KIND"]]
        start(module_call_code=id(kind.__call__.__code__))
        leaf = type("Leaf", (Leaf, kind), {})()
        root = type("Root", (Root, kind), {})(leaf)
        print(json.dumps([root(), id(leaf), id(root)]))
    '''
    for kind in ("Module", "Captured"):
        recorded = Recorded(tmp_path, program, interpreter=interpreter(version), hollow=False, KIND=kind)
        number, leaf, root = recorded.printed()
        [stack] = recorded.box(number)["stacks"]
        assert [frame[3] for frame in stack if frame[3]] == [leaf, root]


def test_own_files_are_left_out(tmp_path):
    program = '''
        import json
        start(own_folder=b"/opt/oomph")
        code = "def call(function):\\n    return function()\\n"
        own, other = {}, {}
        exec(compile(code, "/opt/oomph/watching/steps.py", "exec"), own)
        exec(compile(code, "/opt/oomphs/steps.py", "exec"), other)
        print(json.dumps([own["call"](recorder.stack), other["call"](recorder.stack)]))
    '''
    recorded = Recorded(tmp_path, program, hollow=False)
    own, other = recorded.box(*recorded.printed())["stacks"]
    assert [frame[1] for frame in own] == ["<module>"]
    assert [frame[1] for frame in other] == ["call", "<module>"]


def test_unknown_versions_get_no_stacks(tmp_path):
    program = '''
        assert failing(recorder.open, os.environ["BOX"].encode(), 1 << 20) is None
        for version in (b"0x3090000", b"0x3630000", b"nonsense", b""):
            assert recorder.python(version, 0, b"") < 0
        print(recorder.stack())
    '''
    assert Recorded(tmp_path, program, hollow=False).printed() == 0
