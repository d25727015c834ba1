"""Real programs under the private layer of files: they see what they wrote, and the real tree stays what it was."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap

import pytest

from layer_harness import Layer, fingerprint, sample_tree


@pytest.fixture
def real(tmp_path):
    """A folder that no program under the layer may change."""
    sample_tree(tmp_path / "real")
    before = fingerprint(tmp_path / "real")
    yield tmp_path / "real"
    assert fingerprint(tmp_path / "real") == before, "the real tree was changed"


@pytest.fixture
def layer(tmp_path):
    return Layer(tmp_path / "layer")


def shell(layer, script, cwd, **options):
    done = layer.run("bash", "-euc", script, cwd=cwd, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def python(layer, program, cwd, *arguments, **options):
    done = layer.run(sys.executable, "-c", textwrap.dedent(program), *arguments, cwd=cwd, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_was_written_is_read_by_others_and_the_real_file_is_not_changed(layer, real):
    shell(layer, "echo new > b; echo more >> d.txt; mkdir -p new/folder; echo x > new/folder/file", real)
    assert shell(layer, "cat b d.txt new/folder/file", real) == "new\nreal d.txt\nmore\nx\n"
    assert not (real / "new").exists()


def test_coreutils(layer, real):
    out = shell(
        layer,
        """
        cp -a a copy; mv copy moved; mv d.txt moved/renamed; ln moved/renamed hard; ln -s moved soft; ln -sf b soft2
        touch -d 2001-02-03 b; chmod 700 c; mkdir -p x/y/z; rmdir x/y/z; cp b x/; rm -rf a; truncate -s 5 hard
        find . | sort; stat -c '%A %s' hard; stat -c '%y' b; cat soft/renamed; readlink soft; test ! -e a; du -s . >/dev/null
        ls -la > /dev/null; ls -laR / --hide=proc --hide=sys >/dev/null 2>&1 & wait
        """,
        real,
    )
    assert "./moved/b/c/a\n" in out and "./a" not in out.split() and "-rw-r--r-- 5\n" in out and "2001-02-03" in out


def test_tar_and_a_folder_that_is_removed_and_made_again(layer, real, tmp_path):
    out = shell(
        layer,
        """
        tar cf ../all.tar .; rm -rf ./* ; ls -A; tar xf ../all.tar; find . -type f | sort | xargs cat
        rm -r a; mkdir a; ls -A a; tar df ../all.tar ./c; rm -r a; tar xf ../all.tar ./a; ls a
        """,
        real,
    )
    assert out.splitlines()[0] == "real a/b/c/a" and out.splitlines()[-3:] == ["b", "d.txt", "e"]
    assert not (tmp_path / "all.tar").exists()


def test_git(layer, real, tmp_path):
    settings = {"init.defaultBranch": "main", "advice.detachedHead": "false", "user.email": "a@b", "user.name": "a"}
    home = {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        home |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    out = shell(
        layer,
        """
        git init -q .; git add .; git commit -qm one
        echo changed > b; git commit -qam two; git checkout -q HEAD~1; cat b; git gc -q; git log --oneline --all | wc -l
        git status --short; git clone -q . ../clone; cat ../clone/d.txt
        """,
        real,
        env=home,
    )
    assert out == "real b\n2\nreal d.txt\n"
    assert not (tmp_path / "clone").exists() and not (real / ".git").exists()


def test_a_scrubbed_environment_keeps_the_layer(tmp_path, real):
    layer = Layer(tmp_path / "layer", keep=["KEPT"])
    out = python(
        layer,
        """
        import os, subprocess, sys
        subprocess.run(["sh", "-c", "echo scrubbed > b"], env={}, check=True)
        subprocess.run(["env", "-i", "sh", "-c", "echo again >> b"], check=True)
        subprocess.run([sys.executable, "-c", "open('b', 'a').write('python')"], env={"LD_PRELOAD": "libm.so.6"}, check=True)
        os.spawnve(os.P_WAIT, "/bin/sh", ["sh", "-c", "echo spawned >> b"], {})
        os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", "echo posix >> b"], {}), 0)
        os.waitpid(os.posix_spawnp("sh", ["sh", "-c", "echo named >> b"], {}), 0)
        os.system("unset LD_PRELOAD OOMPH_LAYER; echo unset >> b")
        print(open("b").read(), subprocess.run("echo $KEPT $LD_PRELOAD", shell=True, env={}, capture_output=True).stdout)
        """,
        real,
        env={"KEPT": "kept"},
    )
    assert out.startswith("scrubbed\nagain\npythonspawned\nposix\nnamed\nunset\n")
    assert "kept" in out and str(Layer.built) in out


def test_folders_that_are_written_through_and_shared_memory(tmp_path, real):
    through = tmp_path / "results"
    through.mkdir()
    layer = Layer(tmp_path / "layer", opened=[through])
    shell(layer, "echo kept > ../results/file; mkdir ../results/d; mv ../results/file ../results/d/", real)
    assert (through / "d" / "file").read_text() == "kept\n"
    python(
        layer,
        """
        import _posixshmem, os
        for name in ("/oomph-test-removed", "/oomph-test-left"):
            os.close(_posixshmem.shm_open(name, os.O_CREAT | os.O_RDWR, 0o600))
        _posixshmem.shm_unlink("/oomph-test-removed")
        """,
        real,
    )
    names = (layer.folder / "shm").read_text().split()
    assert "oomph-test-left" in names and "oomph-test-removed" not in names
    os.unlink("/dev/shm/oomph-test-left")


def test_sqlite_with_a_journal_and_with_a_log(layer, real, tmp_path):
    program = """
        import sqlite3, sys
        for mode in ("delete", "wal"):
            base = sqlite3.connect(f"{sys.argv[1]}-{mode}.db")
            base.execute(f"pragma journal_mode={mode}")
            base.execute("create table if not exists t(a)")
            base.executemany("insert into t values(?)", [(n,) for n in range(100)])
            base.commit()
            print(base.execute("select count(*) from t").fetchone()[0])
    """
    assert python(layer, program, real, "base") == "100\n100\n"
    assert python(layer, program, real, "base") == "200\n200\n"


def test_maps_arrays_and_numpy(layer, real):
    out = python(
        layer,
        """
        import mmap, os, numpy
        with open("d.txt", "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
            view[:4] = b"MMAP"
        print(open("d.txt").read().strip())
        array = numpy.memmap("array", dtype="float32", mode="w+", shape=(1000, 1000)); array[5] = 3; array.flush()
        print(numpy.memmap("array", dtype="float32", mode="r+", shape=(1000, 1000)).sum())
        numpy.save("saved.npy", array); print(numpy.load("saved.npy", mmap_mode="r")[5, 5])
        """,
        real,
    )
    assert out == "MMAP d.txt\n3000.0\n3.0\n"


def test_processes_sockets_pipes_and_locks(layer, real):
    out = python(
        layer,
        """
        import fcntl, multiprocessing, os, pathlib, socket, tempfile, threading

        def child(number, queue):
            pathlib.Path(f"from-{number}").write_text(str(number)); queue.put(number)

        if __name__ == "__main__":
            for method in ("fork", "forkserver", "spawn")[:1]:
                context = multiprocessing.get_context(method)
                queue = context.Queue()
                children = [context.Process(target=child, args=(n, queue)) for n in range(3)]
                [c.start() for c in children]; [c.join() for c in children]
                print(sorted(queue.get() for _ in children), sorted(p.name for p in pathlib.Path().glob("from-*")))
            with multiprocessing.Manager() as manager:
                shared = manager.dict(a=1); print(dict(shared))
            server = socket.socket(socket.AF_UNIX); server.bind("s"); server.listen()
            path = os.path.abspath("s"); client = socket.socket(socket.AF_UNIX); client.connect(path)
            print(server.getsockname() in ("s", path), client.getpeername() in ("s", path), pathlib.Path("s").is_socket())
            os.mkfifo("pipe"); threading.Thread(target=lambda: open("pipe", "w").write("through")).start()
            print(open("pipe").read())
            with open("lock", "w") as lock: fcntl.flock(lock, fcntl.LOCK_EX); fcntl.lockf(lock, fcntl.LOCK_EX)
            deep = tempfile.mkdtemp(); long = os.path.join(deep, "x" * 30); print(os.path.exists(deep))
            from multiprocessing.connection import Listener, Client
            with Listener(family="AF_UNIX") as listener:
                Client(listener.address).send("hello"); print(listener.accept().recv())
        """,
        real,
    )
    expected = ["[0, 1, 2] ['from-0', 'from-1', 'from-2']", "{'a': 1}", "True True True", "through", "True", "hello"]
    assert out.splitlines() == expected


def test_python_sees_a_module_that_was_written_and_runs_a_script_and_an_environment(layer, real):
    out = python(
        layer,
        """
        import importlib, os, pathlib, subprocess, sys
        sys.path.insert(0, os.getcwd())
        try: import written
        except ImportError: pass
        pathlib.Path("written.py").write_text("value = 7")
        import written; print(written.value)
        script = pathlib.Path("script"); script.write_text("#!/bin/sh\\necho $0 $1"); script.chmod(0o755)
        print(subprocess.run(["./script", "one"], capture_output=True, text=True).stdout.strip())
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "env"], check=True)
        print(subprocess.run(["env/bin/python", "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True).stdout.strip())
        """,
        real,
    )
    assert out.splitlines() == ["7", "./script one", str(real / "env")]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_library_and_a_program_built_in_the_layer(layer, real):
    out = shell(
        layer,
        """
        cat > lib.c <<'END'
        int seven(void) { return 7; }
END
        cat > main.c <<'END'
        #define _GNU_SOURCE
        #include <dirent.h>
        #include <dlfcn.h>
        #include <glob.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(int count, char **arguments) {
            if (count > 1) return execl("/bin/echo", "echo", "1", "2", "3", "4", "5", "6", "7", "8", "9", (char *)0);
            int (*seven)(void) = (int (*)(void))dlsym(dlopen("./lib.so", RTLD_NOW), "seven");
            printf("%d\\n", seven());
            glob_t found; glob("*.c", 0, 0, &found); printf("%zu %s\\n", found.gl_pathc, found.gl_pathv[0]);
            struct dirent **names; int n = scandir("a", &names, 0, alphasort); printf("%d %s\\n", n, names[n - 1]->d_name);
            char name[] = "tempXXXXXX"; printf("%d\\n", mkstemp(name) >= 0 && access(name, F_OK) == 0);
            FILE *file = tmpfile(); fputs("x", file); printf("%d\\n", freopen("again", "w", file) != 0);
            clearenv(); fflush(stdout); setenv("PATH", "/bin:/usr/bin", 1); system("echo shell >> b"); execl("./main", "main", "x", (char *)0);
        }
END
        cc -shared -o lib.so lib.c; cc -o main main.c -ldl; ./main; cat b
        """,
        real,
    )
    assert out == "7\n2 lib.c\n5 e\n1\n1\n1 2 3 4 5 6 7 8 9\nreal b\nshell\n"


def test_rmtree_of_the_real_folder(layer, real):
    out = python(
        layer,
        """
        import os, shutil
        shutil.rmtree(os.getcwd()); print(os.path.exists(os.environ["WHERE"]))
        os.mkdir(os.environ["WHERE"]); print(os.listdir(os.environ["WHERE"]))
        """,
        real,
        env={"WHERE": str(real)},
    )
    assert out == "False\n[]\n"


def test_a_copy_that_breaks_the_limit_ends_the_program(tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"x" * 3_000_000)
    layer = Layer(tmp_path / "layer", limit_bytes=1_000_000)
    assert layer.run("sh", "-c", f"echo small > {tmp_path}/new; cat {tmp_path}/new").stdout == "small\n"
    done = layer.run("bash", "-c", f"echo more >> {large}; echo survived")
    assert done.returncode == -9 and done.stdout == ""
    stopped = json.loads((layer.folder / "stopped").read_text())
    assert (stopped["reason"], stopped["path"]) == ("limit", str(large)) and stopped["bytes"] > 2_900_000
    assert large.stat().st_size == 3_000_000


def test_a_sparse_file_is_copied_as_one(tmp_path):
    sparse = tmp_path / "sparse"
    with open(sparse, "wb") as file:
        file.truncate(10**10)
        file.write(b"start")
    layer = Layer(tmp_path / "layer", limit_bytes=10_000_000)
    assert layer.run("bash", "-c", f"echo end >> {sparse}; stat -c %s {sparse}").stdout == f"{10**10 + 4}\n"
    copy = layer.folder / "root" / str(sparse).lstrip("/")
    assert copy.stat().st_blocks * 512 < 10_000_000
    with open(copy, "rb") as file:
        assert file.read(5) == b"start"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to become")
def test_what_the_real_tree_refuses_is_refused():
    # Below /tmp itself: other users cannot reach the folders that pytest makes.
    with tempfile.TemporaryDirectory() as name:
        base = pathlib.Path(name)
        base.chmod(0o777)
        (base / "locked").write_text("no")
        (base / "folder").mkdir(mode=0o755)
        layer = Layer(base / "layer")
        shutil.copy(Layer.built, base / "library.so")
        subprocess.run(["chmod", "-R", "a+rwX", layer.folder], check=True)
        before = fingerprint(base / "folder"), (base / "locked").stat()
        attempts = ["> locked", ">> locked", "> folder/new", "mkdir folder/d", "chmod 777 locked", "rm /etc/passwd"]
        attempts += ["mv /etc/passwd x", "touch locked", "ln /etc/passwd folder/x"]
        allowed = ["> free", "rmdir folder", "mkdir folder", "rm -f locked", "> locked", "chmod 700 locked"]
        script = "\n".join(f"( {attempt} ) 2>/dev/null; echo $?" for attempt in attempts + allowed)
        done = layer.run(
            "bash", "-c", script, user=65534, cwd=base, env={"LD_PRELOAD": str(base / "library.so"), "HOME": name}
        )
        assert done.stdout.split() == ["1"] * len(attempts) + ["0"] * len(allowed), done.stderr
        assert (fingerprint(base / "folder"), (base / "locked").stat()) == before


def test_without_a_layer_the_library_does_nothing(tmp_path, layer):
    environment = {**os.environ, "LD_PRELOAD": str(Layer.built)}
    script = "echo x > new; ls -A; mkdir d; mv new d/; find . -type f; rm -r d"
    done = subprocess.run(["bash", "-euc", script], cwd=layer.folder / "work", env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("new\n./d/new\n", "")


def test_torch_and_safetensors(layer, real):
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    out = python(
        layer,
        """
        import os, torch, safetensors.torch
        os.makedirs("out.tmp"); torch.save({"w": torch.ones(1000)}, "out.tmp/model.pt")
        safetensors.torch.save_file({"w": torch.full((10,), 2.0)}, "out.tmp/model.safetensors")
        os.rename("out.tmp", "out")
        print(torch.load("out/model.pt", mmap=True)["w"].sum().item())
        print(safetensors.torch.load_file("out/model.safetensors")["w"].sum().item())
        data = torch.utils.data.DataLoader(list(range(8)), batch_size=4, num_workers=2)
        print([batch.tolist() for batch in data])
        """,
        real,
    )
    assert out == "1000.0\n20.0\n[[0, 1, 2, 3], [4, 5, 6, 7]]\n"
