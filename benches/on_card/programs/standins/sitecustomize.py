"""Loaded into every program: stops it after some optimizer steps and writes down what PyTorch's allocator saw.

Variables: PROGRAMS_STEPS (0: to its own end), PROGRAMS_OUT (a JSON file, written at the end), PROGRAMS_TRIAL (run on the
host, where there is no card), PROGRAMS_KEPT (packages that have a stand-in of their own and are not dropped). The same file is in place when the program is planned, so that both end at the same step.
"""

from __future__ import annotations

import atexit
import builtins
import collections.abc
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import os
import sys
import time
from types import ModuleType
from typing import Any, Callable

#: Logging, plotting and windows: what they are given is dropped.
DROPPED = (
    "wandb", "tensorboardX", "tensorboard", "torch.utils.tensorboard", "matplotlib", "visdom", "IPython", "seaborn", "torchsearchsorted", "pandas", "pyvista", "mpl_toolkits",
    "openai", "swanlab", "mlflow", "dominate", "plotly", "nltk", "dm_control", "imageio_ffmpeg", "moviepy", "tensorboard_logger", "lmdb",
)
BEGAN = time.time()
ENDING: dict[str, Any] = {"end": "ok"}


class Dropped(ModuleType):
    """Takes every call and answers with itself."""

    __path__: list[str] = []
    __version__ = "9.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return colours if name == "get_cmap" else Nothing


def colours(*given: Any) -> Callable[[Any], Any]:
    """A map of colours: four numbers for each."""
    return lambda values: values[..., None].repeat(4, -1)


class _Meta(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class Nothing(metaclass=_Meta):
    """An object of such a package: anything can be called on it, nothing is kept."""

    def __init__(self, *given: Any, **named: Any) -> None:
        pass

    def __call__(self, *given: Any, **named: Any) -> Any:
        return Nothing()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *what: Any) -> None:
        pass

    def __iter__(self) -> Any:
        return iter((Nothing(), Nothing()))

    def __getitem__(self, at: Any) -> Any:
        return Nothing()

    def __setitem__(self, at: Any, value: Any) -> None:
        pass

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __fspath__(self) -> str:
        return os.devnull


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Dropped(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def stop_after_steps(module: ModuleType) -> None:
    """Ends the program after so many optimizer steps, as someone would who presses Ctrl-C then."""
    done = [0]

    def count(*given: Any) -> None:
        done[0] += 1
        if done[0] == int(os.environ.get("PROGRAMS_STEPS", "0")):
            raise SystemExit(0)

    module.register_optimizer_step_post_hook(count)
    if "PROGRAMS_TRIAL" in os.environ:
        # Whether a program gets as far as its first step is what a trial asks.
        module.register_optimizer_step_pre_hook(lambda *given: sys.exit(0))


def trust_files(module: ModuleType) -> None:
    """Data sets are made up: their files have other checksums than those that torchvision knows."""
    module.check_integrity = lambda path, md5=None: os.path.isfile(path)
    module.check_md5 = lambda *given, **named: True


def old_names(module: ModuleType) -> None:
    """Names that numpy had when some of the programs were written."""
    for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if name not in module.__dict__:
            setattr(module, name, kind)
    module.__dict__.setdefault("cumproduct", module.cumprod)
    for name in ("Inf", "infty"):
        module.__dict__.setdefault(name, module.inf)


def old_filters(module: ModuleType) -> None:
    """A name that Pillow had when some of the programs were written."""
    module.__dict__.setdefault("ANTIALIAS", module.LANCZOS)


def old_transforms(module: ModuleType) -> None:
    """A name that torchvision had when some of the programs were written."""
    module.__dict__.setdefault("Scale", module.Resize)


def old_sums(module: ModuleType) -> None:
    """A name that PyTorch had when some of the programs were written."""
    module.__dict__.setdefault("_accumulate", itertools.accumulate)


def old_options(module: ModuleType) -> None:
    """Options that transformers had when some of the programs were written: nothing is left of them to be set."""
    begun = module.TrainingArguments.__init__

    def begin(self: Any, *given: Any, overwrite_output_dir: Any = None, logging_dir: Any = None, **named: Any) -> None:
        begun(self, *given, **named)

    module.TrainingArguments.__init__ = begin


AFTER: dict[str, Callable[[ModuleType], None]] = {
    "numpy": old_names,
    "PIL.Image": old_filters,
    "torch._utils": old_sums,
    "torch.optim.optimizer": stop_after_steps,
    "torchvision.datasets.utils": trust_files,
    "torchvision.transforms.transforms": old_transforms,
    "transformers.training_args": old_options,
}


class Finder(importlib.abc.MetaPathFinder):
    """Answers for dropped packages, and calls what is to be done after an import."""

    def __init__(self) -> None:
        self._busy: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        kept = os.environ.get("PROGRAMS_KEPT", "").split(",")
        if any(name == one or name.startswith(one + ".") for one in DROPPED if one not in kept):
            return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)
        if name not in AFTER or name in self._busy:
            return None
        self._busy.add(name)
        spec = importlib.util.find_spec(name)
        self._busy.discard(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def then(module: ModuleType) -> None:
                run(module)
                AFTER[name](module)

            spec.loader.exec_module = then  # type: ignore[method-assign]
        return spec


def write_down(out: str, owner: int) -> None:
    """What the allocator says at the very end, into `out`."""
    torch = sys.modules.get("torch")
    if os.getpid() != owner or torch is None:
        return
    told: dict[str, Any] = {**ENDING, "seconds": round(time.time() - BEGAN, 2), "torch": torch.__version__}
    if torch.cuda.is_available() and torch.cuda.is_initialized() and "PROGRAMS_TRIAL" not in os.environ:
        seen = torch.cuda.memory_stats()
        for key in ("allocated_bytes", "active_bytes", "reserved_bytes", "requested_bytes"):
            told[f"peak_{key}"] = seen[f"{key}.all.peak"]
            told[f"end_{key}"] = seen[f"{key}.all.current"]
        told["count_allocation"] = seen["allocation.all.allocated"]
        told["count_segment"] = seen["segment.all.allocated"]
        told["retries"], told["ooms"] = seen["num_alloc_retries"], seen["num_ooms"]
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                told["host_peak_bytes"] = int(line.split()[1]) * 1024
    with open(out, "w") as file:
        json.dump(told, file)


def main() -> None:
    """Puts everything in place."""
    # A name that Python had when some of the programs were written.
    for name in ("Mapping", "Iterable", "Sequence"):
        collections.__dict__.setdefault(name, getattr(collections.abc, name))
    sys.meta_path.insert(0, Finder())
    # Nobody is there to be asked whether a folder of an earlier run may be removed.
    builtins.input = lambda *asked: "y"
    out = os.environ.get("PROGRAMS_OUT")
    # Programs that a program starts (workers, launchers' children) have the variable too; the first to end would win.
    if out and os.environ.setdefault("PROGRAMS_OWNER", str(os.getpid())) == str(os.getpid()):
        atexit.register(write_down, out, os.getpid())
        told = sys.excepthook

        def crashed(kind: Any, value: Any, trace: Any) -> None:
            ENDING["end"] = f"{kind.__name__}: {value}"[:400]
            told(kind, value, trace)

        sys.excepthook = crashed
    if "PROGRAMS_TRIAL" in os.environ:
        import trial

        AFTER["torch"] = trial.pretend
        for name in ("lightning.fabric", "lightning.pytorch", "lightning_fabric", "pytorch_lightning"):
            AFTER[f"{name}.accelerators.cuda"] = trial.no_card


main()
