"""What the sets' data.py have in common: pictures, texts and small data sets of random numbers, and how makers are run.

Everything is drawn from fixed seeds, so that two machines make the same.
"""

from __future__ import annotations

import json
import pickle
import random
import struct
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Callable

MAKERS: dict[str, Callable[[Path, Path], None]] = {}


def maker(function: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
    """Registers what makes the data of one or more programs; it is given the sources and the data."""
    MAKERS[function.__name__] = function
    return function


def picture(path: Path, width: int, height: int, seed: int) -> None:
    """A random photograph: coarse patches, so that it is quick to write."""
    import numpy
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = numpy.random.default_rng(seed).integers(0, 255, (max(height // 16, 1), max(width // 16, 1), 3), dtype=numpy.uint8)
    Image.fromarray(drawn).resize((width, height)).save(path)


def words(seed: int, count: int) -> str:
    """A text of made-up words."""
    chance = random.Random(seed)
    parts = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    return " ".join(chance.choice(parts) + chance.choice(parts) for _ in range(count))


def write_weights(data: Path, networks: dict[str, Callable[[], Any]]) -> Path:
    """Random weights in the files where torch.hub looks for those it would download; gives their folder."""
    import torch

    folder = data / "torch_home/hub/checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name, build in networks.items():
        torch.save(build().state_dict(), folder / name)
    return folder


def write_mnist(raw: Path, count: int = 60_000) -> None:
    """Random digits in MNIST's own files."""
    import numpy

    raw.mkdir(parents=True, exist_ok=True)
    chance = numpy.random.default_rng(0)
    for name, many in (("train", count), ("t10k", 10_000)):
        pixels = chance.integers(0, 256, (many, 28, 28), dtype=numpy.uint8)
        labels = (numpy.arange(many) % 10).astype(numpy.uint8)
        (raw / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, many, 28, 28) + pixels.tobytes())
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, many) + labels.tobytes())
        for kind in ("images-idx3", "labels-idx1"):
            (raw / f"{name}-{kind}-ubyte.gz").touch()


def write_cifar(sources: Path, data: Path, places: list[str]) -> Any:
    """Random small pictures in CIFAR's own files, once, and links to them from where programs look; gives what drew them."""
    import numpy

    chance = numpy.random.default_rng(0)
    batches = data / "cifar/cifar-10-batches-py"
    batches.mkdir(parents=True, exist_ok=True)
    for name in [*(f"data_batch_{at}" for at in range(1, 6)), "test_batch"]:
        drawn = chance.integers(0, 256, (10_000, 3072), dtype=numpy.uint8)
        (batches / name).write_bytes(pickle.dumps({"data": drawn, "labels": [at % 10 for at in range(10_000)]}))
    (batches / "batches.meta").write_bytes(pickle.dumps({"label_names": [str(at) for at in range(10)]}))
    for place in places:
        folder = sources / place
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "cifar-10-batches-py").exists():
            (folder / "cifar-10-batches-py").symlink_to(batches)
    return chance


def write_views(folder: Path, counts: dict[str, int], chance: Any = None) -> None:
    """Views of a scene in the folders of NeRF's synthetic scenes, as many of each split as said."""
    import numpy
    from PIL import Image

    chance = chance or numpy.random.default_rng(0)
    pose = numpy.eye(4, dtype=numpy.float32)
    pose[2, 3] = 4
    for split, many in counts.items():
        frames = []
        for at in range(many):
            path = folder / f"{split}/r_{at}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(chance.integers(0, 255, (50, 50, 4), dtype=numpy.uint8)).resize((800, 800)).save(path, compress_level=1)
            frames.append({"file_path": f"./{split}/r_{at}", "transform_matrix": pose.tolist()})
        (folder / f"transforms_{split}.json").write_text(json.dumps({"camera_angle_x": 0.69, "frames": frames}))


def write_streets(folder: Path) -> None:
    """Pairs of pictures of a street and the flow between them, as KITTI writes it."""
    for at in range(40):
        for name, seed in ((f"image_2/{at:06d}_10", 3 * at), (f"image_2/{at:06d}_11", 3 * at + 1), (f"flow_occ/{at:06d}_10", 3 * at + 2)):
            picture(folder / f"{name}.png", 1242, 375, seed)


def run(given: tuple[str, Path]) -> str:
    """One maker, in a process of its own."""
    name, folder = given
    (folder / "data").mkdir(parents=True, exist_ok=True)
    MAKERS[name](folder / "sources", folder / "data")
    return name


def main() -> None:
    """All of them, some at a time."""
    folder = Path(sys.argv[1]).resolve()
    chosen = sys.argv[2:] or list(MAKERS)
    with ProcessPoolExecutor(min(len(chosen), 12)) as pool:
        for name in pool.map(run, [(name, folder) for name in chosen]):
            print("made", name, flush=True)

