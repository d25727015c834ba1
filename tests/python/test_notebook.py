"""Notebooks as scripts: what is taken from a cell, and whole plans of them."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))

from oomph import notebook  # noqa: E402

CELLS = [
    ("markdown", "# A model"),
    ("code", "%matplotlib inline\n!pip install torch\nimport torch\n"),
    ("code", ["%%bash\n", "rm -rf data\n"]),
    ("code", "model = torch.nn.Linear(64, 64).cuda()\nif True:\n    !ls\ndisplay(model)\n"),
    ("code", "%%time\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor step in range(500):\n"
             "    model(torch.randn(8, 64, device='cuda')).sum().backward()\n    optimizer.step()\n"),
]  # fmt: skip


def text():
    cells = [{"cell_type": kind, "source": source, "metadata": {}} for kind, source in CELLS]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})


def test_cells_are_python_and_keep_their_lines():
    found = list(notebook.cells(text().encode(), "nb.ipynb"))
    assert [name for _, name in found] == ["nb.ipynb#cell1", "nb.ipynb#cell3", "nb.ipynb#cell4"]
    for code, name in found:
        compile(code, name, "exec")
    assert found[1][0].splitlines()[2] == "    pass"
    assert found[2][0].splitlines()[1].startswith("optimizer")


@pytest.mark.parametrize(
    ("line", "python"),
    [
        ("%time train(model)", "train(model)"),
        ("    %timeit -n 100 -r3 step()", "    step()"),
        ("%prun -s cumulative -q train()", "train()"),
        ("best = %timeit -o -n 1 step()", "best = step()"),
        ("%time", "pass"),
        ("%load_ext tensorboard", "pass"),
        ("files = !ls *.pt", "files = []"),
        ("torch.nn.Linear?", "pass"),
        ("?torch", "pass"),
        ("      % (epoch, loss)", "      % (epoch, loss)"),
        ("%cd -q 'my data'", "__import__('oomph').notebook.enter('my data')"),
        ("    %cd ~/job", "    __import__('oomph').notebook.enter('~/job')"),
        ("%cd", "pass"),
        ("%cd $FOLDER", "pass"),
        ("%env NAME=a b", "__import__('os').environ['NAME'] = 'a b'"),
        ("%set_env NAME 0", "__import__('os').environ['NAME'] = '0'"),
        ("%env", "pass"),
        ("%env NAME", "pass"),
    ],
)
def test_lines_for_the_shell_become_what_they_run(line, python):
    assert notebook.plain_python(f"{line}\n!ls\n").splitlines() == [python, "pass"]


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("!pip install -q \\\n    torch \\\n    torchvision\nimport torch\n", "pass\n\n\nimport torch\n"),
        ("if True:\n    files = !ls \\\n  *.pt\nx = 1\n", "if True:\n    files = []\n\nx = 1\n"),
        ("%time y = f(1, \\\n    2)\n", "y = f(1, \\\n    2)\n"),
        ("!ls\ny = 1 + \\\n    2\n", "pass\ny = 1 + \\\n    2\n"),
    ],
)
def test_lines_for_the_shell_go_on_behind_a_backslash(cell, python):
    assert notebook.plain_python(cell) == python


def test_a_cell_enters_a_folder_that_is_there(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for line in ("%cd nowhere", "%cd data"):
        exec(notebook.plain_python(line))
    assert pathlib.Path.cwd() == tmp_path / "data"


def test_cells_may_ask_for_their_shell():
    shell = notebook.get_ipython()
    assert "google.colab" not in str(shell) and shell.getoutput("ls") == []
    assert shell.run_line_magic("matplotlib", "inline") is None and not hasattr(shell, "__wrapped__")


def test_cells_that_are_python_stay_as_they_are():
    cell = "text = (\n    value\n    %width\n)\nhelp = \"\"\"\n!important\n\"\"\"\n"
    assert notebook.plain_python(cell) == cell


def test_a_notebook_is_planned(planned, tmp_path):
    path = tmp_path / "nb.ipynb"
    path.write_text(text())
    answer = planned(path)
    [loop] = answer["seen"]["loops"]
    assert (pathlib.Path(loop["file"]).name, loop["line"], loop["total"]) == ("nb.ipynb#cell4", 3, 500)
    assert loop["seen"] < 20 and answer["peak_allocated_bytes"] > 64 * 64 * 4


READS_ITS_SOURCE = [
    ("code", "%matplotlib inline\nimport inspect\nimport torch\n"),
    ("code", "@torch.jit.script\ndef double(x):\n    return torch.relu(x) * 2.0\n"),
    ("code", "def train(model, loader):\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
             "    for x, y in loader:\n        x, y = x.cuda(), y.cuda()\n"
             "        loss = (double(model(x)) - y).square().mean()\n        optimizer.zero_grad()\n"
             "        loss.backward()\n        optimizer.step()\n"),
    ("code", "assert inspect.getsource(train).startswith('def train(')\n"
             "layers = [torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()) for _ in range(20)]\n"
             "data = torch.utils.data.TensorDataset(torch.randn(65536, 256), torch.randn(65536, 256))\n"
             "train(torch.nn.Sequential(*layers).cuda(), torch.utils.data.DataLoader(data, batch_size=8192))\n"),
]  # fmt: skip


def test_the_source_of_a_cell_is_found(planned, tmp_path):
    """By TorchScript, by `inspect` and by the remedy that reads the loop."""
    cells = [{"cell_type": kind, "source": source, "metadata": {}} for kind, source in READS_ITS_SOURCE]
    path = tmp_path / "nb.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    whole = planned("--gpu", "rtx_4090", path)["peak_allocated_bytes"]
    parts = planned("--gpu", "rtx_4090", "--with", "micro_batches:parts=8", path)["peak_allocated_bytes"]
    assert parts < 0.5 * whole


def test_a_traceback_shows_the_line_of_the_cell(oomph, tmp_path):
    path = tmp_path / "nb.ipynb"
    cell = {"cell_type": "code", "source": "!ls\nvalue = 1 // 0  # here\n", "metadata": {}}
    path.write_text(json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    code, _, err = oomph("plan", path)
    assert code == 2 and "value = 1 // 0  # here" in err and "nbformat" not in err
