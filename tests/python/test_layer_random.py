"""The layer against the kernel: random operations in a plain folder and under the layer must give the same."""

import json
import pathlib
import random
import shutil
import subprocess
import sys
import time

import pytest

from layer_harness import Layer, fingerprint, sample_tree

PROGRAM = pathlib.Path(__file__).parent / "layer_operations.py"
OPERATIONS = 400


def lines(done, base):
    assert done.returncode == 0, done.stderr
    return [json.loads(line.replace(str(base), "<base>")) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("seed", range(25))
def test_the_same_as_on_a_plain_folder(tmp_path, seed):
    plain, real = tmp_path / "one", tmp_path / "two"
    sample_tree(real)
    subprocess.run(["cp", "-a", real, plain], check=True)
    before = fingerprint(real)
    layer = Layer(tmp_path / "layer")

    def command(base):
        return [sys.executable, str(PROGRAM), str(base), str(seed), str(OPERATIONS)]

    expected = lines(subprocess.run(command(plain), capture_output=True, text=True, timeout=120), plain)
    found = lines(layer.run(*command(real)), real)
    for number, (wanted, got) in enumerate(zip(expected, found, strict=True)):
        assert got == wanted, f"operation {number} of seed {seed}"
    assert fingerprint(real) == before


@pytest.mark.parametrize("seed", range(12))
def test_a_killed_program_leaves_the_real_tree_alone(tmp_path, seed):
    real = tmp_path / "real"
    sample_tree(real)
    before = fingerprint(real)
    layer = Layer(tmp_path / "layer")
    job = layer.start(sys.executable, str(PROGRAM), str(real), str(seed), "100000", stdout=subprocess.DEVNULL)
    time.sleep(random.Random(seed).uniform(0.05, 0.8))
    job.kill()
    job.wait()
    assert fingerprint(real) == before
    # What the killed program left is whole: another one can go on with it.
    done = layer.run(sys.executable, str(PROGRAM), str(real), str(seed + 1), "50")
    assert done.returncode == 0, done.stderr
    assert fingerprint(real) == before
    shutil.rmtree(layer.folder)


def test_two_programs_on_one_layer_and_two_layers_on_one_tree(tmp_path):
    real = tmp_path / "real"
    sample_tree(real)
    before = fingerprint(real)
    layers = [Layer(tmp_path / "layer1"), Layer(tmp_path / "layer2")]
    jobs = [
        layer.start(sys.executable, str(PROGRAM), str(real), str(seed), "300", stdout=subprocess.DEVNULL)
        for seed in range(2)
        for layer in layers
    ]
    for job in jobs:
        # Two at once remove each other's files, so a program may fail; it must not crash.
        assert job.wait(timeout=120) in (0, 1)
    assert fingerprint(real) == before
