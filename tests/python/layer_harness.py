"""Runs programs under the private layer of files, and tells whether a real tree is what it was."""

import hashlib
import os
import pathlib
import stat
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


def library():
    """The library, built where OOMPH_LAYER_LIB does not name one."""
    named = os.environ.get("OOMPH_LAYER_LIB")
    if named:
        return pathlib.Path(named)
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--package", "oomph-layer"], cwd=ROOT, check=True)
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "liboomph_layer.so"


class Layer:
    """One plan's layer, as the supervisor makes it."""

    built = None

    def __init__(self, folder, limit_bytes=2**31, opened=(), keep=()):
        Layer.built = Layer.built or library()
        self.folder = pathlib.Path(folder)
        for name in ("root", "work"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "state").touch()
        self.environment = {
            **os.environ,
            "LD_PRELOAD": str(Layer.built),
            "OOMPH_LAYER": str(self.folder),
            "OOMPH_LAYER_LIMIT_BYTES": str(limit_bytes),
            "OOMPH_LAYER_OPEN": ":".join(map(str, opened)),
            "OOMPH_LAYER_KEEP": ":".join(keep),
        }

    def start(self, *command, env=(), **options):
        return subprocess.Popen([*map(str, command)], env={**self.environment, **dict(env)}, **options)

    def run(self, *command, timeout=120, env=(), **options):
        """Runs a program; returns it with its output."""
        environment = {**self.environment, **dict(env)}
        return subprocess.run(
            [*map(str, command)], env=environment, capture_output=True, text=True, timeout=timeout, **options
        )


def fingerprint(base):
    """Names, kinds, modes, owners, times and content of a whole tree."""
    found = hashlib.sha256()
    for folder, folders, files in os.walk(base):
        folders.sort()
        for path in [folder, *(os.path.join(folder, name) for name in sorted(folders + files))]:
            about = os.lstat(path)
            found.update(repr((path, about.st_mode, about.st_uid, about.st_mtime_ns, about.st_ino)).encode())
            if stat.S_ISLNK(about.st_mode):
                found.update(os.readlink(path).encode())
            elif stat.S_ISREG(about.st_mode):
                found.update(pathlib.Path(path).read_bytes())
    return found.hexdigest()


def sample_tree(base):
    """Files, folders and links of every kind, with the names that the random operations use."""
    base.mkdir()
    for folder in ("a", "a/b", "a/b/c", "c", "c/a"):
        (base / folder).mkdir()
    for name in ("b", "a/d.txt", "a/b/e", "a/b/c/a", "c/b", "d.txt"):
        (base / name).write_text(f"real {name}\n")
        os.utime(base / name, ns=(10**17, 10**17))
    (base / "e").symlink_to("a/b")
    (base / "c" / "e").symlink_to("../a/d.txt")
    (base / "c" / "c").symlink_to("nowhere")
    (base / "a" / "e").symlink_to("e")
