"""Random operations on files, as a program: the same seed does the same, whatever it runs on.

`python layer_operations.py FOLDER SEED COUNT` works in FOLDER and prints, one line of JSON each, what every operation
returned or raised, and last what the tree looks like. It knows nothing of layers; test_layer_random.py runs it twice.
"""

import ctypes
import errno
import hashlib
import json
import os
import pathlib
import random
import shutil
import stat
import subprocess
import sys
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
NAMES = ["a", "b", "c", "d.txt", "e"]


def is_inside(path, folder):
    """Whether a path lies in a folder: shutil copies a folder into itself until Python's stack is full."""
    return (os.path.realpath(path) + os.sep).startswith(os.path.realpath(folder) + os.sep)


class Operations:
    """Each method is one operation; its arguments come from the seed."""

    def __init__(self, base, seed):
        self.base = base
        self.random = random.Random(seed)
        self.folders = {}

    def path(self):
        """A path that may or may not exist: relative, absolute, through `..`, with a slash at its end."""
        draw = self.random
        parts = [draw.choice(NAMES) for _ in range(draw.choice([1, 1, 2, 2, 3]))]
        if draw.random() < 0.1:
            parts.insert(draw.randrange(len(parts)) + 1, "..")
        if draw.random() < 0.05:
            parts.insert(draw.randrange(len(parts)), ".")
        path = "/".join(parts)
        if draw.random() < 0.3:
            path = f"{self.base}/{path}"
        return path + "/" if draw.random() < 0.04 else path

    def step(self):
        """Runs one operation; returns its name, its arguments and what came of it."""
        name = self.random.choice([name for name in dir(self) if name.startswith("do_")])
        operation = getattr(self, name)
        arguments = [self.path() for _ in range(operation.__code__.co_argcount - 1)]
        try:
            result = operation(*arguments)
        except shutil.Error as error:
            result = ["raised", "shutil.Error", len(error.args)]
        except OSError as error:
            result = ["raised", errno.errorcode.get(error.errno, str(error.errno))]
        return [name, arguments, result]

    def do_write(self, path):
        with open(path, "w") as file:
            return file.write("written " + str(self.random.random()))

    def do_append(self, path):
        with open(path, "a") as file:
            file.write("more")
            return file.tell()

    def do_update(self, path):
        with open(path, "r+b") as file:
            file.write(b"XY")
            return file.read(4).decode("latin1")

    def do_read(self, path):
        return pathlib.Path(path).read_text()

    def do_exclusive(self, path):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o640))

    def do_create_for_reading(self, path):
        os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o600))

    def do_open_no_follow(self, path):
        os.close(os.open(path, os.O_RDWR | os.O_NOFOLLOW))

    def do_open_folder(self, path):
        os.close(os.open(path, os.O_DIRECTORY | os.O_RDONLY))

    def do_mkdir(self, path):
        os.mkdir(path, self.random.choice([0o777, 0o700, 0o755]))

    do_mkdir_again = do_mkdir
    do_write_again = do_write

    def do_makedirs(self, path):
        os.makedirs(path, exist_ok=True)

    def do_rmdir(self, path):
        os.rmdir(path)

    def do_unlink(self, path):
        os.unlink(path)

    def do_remove_tree(self, path):
        if self.random.random() < 0.4:
            shutil.rmtree(path)

    def do_rename(self, source, target):
        os.rename(source, target)

    def do_replace(self, source, target):
        os.replace(source, target)

    def do_rename_flags(self, source, target):
        flags = self.random.choice([1, 2])
        if LIBC.renameat2(-100, source.encode(), -100, target.encode(), flags):
            raise OSError(ctypes.get_errno(), "renameat2")

    def do_move(self, source, target):
        return "into itself" if is_inside(target, source) else shutil.move(source, target)

    def do_copy(self, source, target):
        return shutil.copy2(source, target)

    def do_copy_tree(self, source, target):
        if self.random.random() < 0.3 and not is_inside(target, source):
            return shutil.copytree(source, target, symlinks=True)

    def do_link(self, source, target):
        os.link(source, target, follow_symlinks=False)

    def do_symlink(self, target, path):
        os.symlink(target, path)

    def do_readlink(self, path):
        return os.readlink(path)

    def do_realpath(self, path):
        return os.path.realpath(path, strict=True)

    def do_stat(self, path):
        return describe(os.stat(path))

    def do_lstat(self, path):
        return describe(os.lstat(path))

    def do_chmod(self, path):
        os.chmod(path, self.random.choice([0o600, 0o644, 0o755, 0o700]))

    def do_chmod_open_file(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            os.fchmod(fd, self.random.choice([0o600, 0o644, 0o711]))
        finally:
            os.close(fd)

    def do_times(self, path):
        os.utime(path, ns=(10**18, self.random.randrange(10**18)), follow_symlinks=self.random.random() < 0.5)

    def do_truncate(self, path):
        os.truncate(path, self.random.choice([0, 3, 5000]))

    def do_list(self, path):
        return sorted(os.listdir(path))

    def do_scan(self, path):
        with os.scandir(path) as entries:
            return sorted([entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()] for entry in entries)

    def do_access(self, path):
        return [os.access(path, mode) for mode in (os.F_OK, os.R_OK, os.W_OK, os.X_OK)]

    def do_pipe(self, path):
        os.mkfifo(path, 0o600)
        found = describe(os.lstat(path))
        # Whoever opened it later would wait for ever.
        os.unlink(path)
        return found

    def do_change_folder(self, path):
        os.chdir(path)
        found = os.getcwd()
        os.chdir(self.base)
        return found

    def do_work_below(self, path, other):
        os.chdir(path)
        try:
            pathlib.Path("f").write_text("below")
            return [os.getcwd(), sorted(os.listdir()), os.path.exists("../" + other)]
        finally:
            os.chdir(self.base)

    def do_through_descriptor(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.mkdir("m", dir_fd=fd)
            os.rename("m", "n", src_dir_fd=fd, dst_dir_fd=fd)
            kind = describe(os.stat("n", dir_fd=fd))
            same = os.path.samestat(os.fstat(fd), os.stat(path))
            os.rmdir("n", dir_fd=fd)
            return [kind, same, sorted(os.listdir(fd))]
        finally:
            os.close(fd)

    def do_temporary(self, path):
        fd, name = tempfile.mkstemp(dir=path)
        os.write(fd, b"temporary")
        os.close(fd)
        try:
            os.replace(name, os.path.join(path, "t"))
        except OSError:
            os.unlink(name)
            raise

    def do_child(self, path):
        done = subprocess.run(["sh", "-c", 'echo child > "$1" && cat "$1"', "sh", path], capture_output=True, text=True)
        return [done.returncode, done.stdout]


def describe(found):
    """What must be equal; inodes, and the sizes of folders, need not be."""
    size = 0 if stat.S_ISDIR(found.st_mode) else found.st_size
    return [stat.filemode(found.st_mode), size]


def tree(base):
    """Everything below a folder."""
    seen = []
    for folder, folders, files in os.walk(base):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            found = os.lstat(path)
            entry = [os.path.relpath(path, base), *describe(found)]
            if stat.S_ISLNK(found.st_mode):
                entry.append(os.readlink(path))
            elif stat.S_ISREG(found.st_mode):
                entry.append(hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16])
                # Times that a program set itself lie long ago; all others are the moment of the run.
                entry.append(found.st_mtime_ns if found.st_mtime_ns < 10**18 else None)
            seen.append(entry)
    return seen


def main():
    base, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.chdir(base)
    operations = Operations(base, seed)
    for _ in range(count):
        print(json.dumps(operations.step()), flush=True)
    print(json.dumps(["tree", tree(base)]))


if __name__ == "__main__":
    main()
