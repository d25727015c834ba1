"""What `oomph check` writes is what other programs read: SARIF, JUnit, JSON, pre-commit's hooks."""

import json
import pathlib
import subprocess
import xml.etree.ElementTree

import jsonschema
import pytest
import yaml

from conftest import ROOT

SAMPLES = ROOT / "samples"
SCHEMA = json.loads((pathlib.Path(__file__).parent / "sarif.schema.json").read_text())


@pytest.fixture
def odd(tmp_path):
    """Files whose names and texts need escaping, and one that cannot be read."""
    (tmp_path / "a b&<é>.py").write_text("import torch\ntorch.empty_cache()  # <&>'\"\n")
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    return tmp_path


def test_sarif_is_sarif(oomph, odd):
    code, out, _ = oomph("check", SAMPLES, odd, "--select", "all", "--output-format", "sarif")
    assert code == 2, "one file cannot be read"
    log = json.loads(out)
    jsonschema.validate(log, SCHEMA, cls=jsonschema.Draft202012Validator)
    [run] = log["runs"]
    assert not run["invocations"][0]["executionSuccessful"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert run["results"] and all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert any("fixes" in result for result in run["results"])
    assert any("relatedLocations" in result for result in run["results"])
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert any(uri.endswith("/a%20b%26%3C%C3%A9%3E.py") for uri in uris), uris


def test_sarif_points_at_the_lines_of_a_notebook(oomph, tmp_path):
    notebook = tmp_path / "a.ipynb"
    code = ["import torch\n", "\n", "torch.empty_cache()"]
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]},
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": code},
    ]
    notebook.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    _, out, _ = oomph("check", notebook, "--isolated", "--output-format", "sarif")
    [result] = json.loads(out)["runs"][0]["results"]
    [place] = result["locations"]
    region = place["physicalLocation"]["region"]
    assert "torch.empty_cache()" in notebook.read_text().splitlines()[region["startLine"] - 1]
    assert region["startLine"] == region["endLine"]
    assert place["logicalLocations"][0]["name"] == "cell 2, line 3"


def test_fix_with_diff_writes_nothing(oomph, tmp_path):
    path = tmp_path / "a.py"
    path.write_text("import torch\ntorch.empty_cache()\n")
    code, out, _ = oomph("check", path, "--isolated", "--fix", "--diff")
    assert code == 1 and "+torch.cuda.empty_cache()" in out
    assert path.read_text() == "import torch\ntorch.empty_cache()\n"


def test_fixes_respect_the_torch_that_is_declared(oomph, tmp_path):
    path = tmp_path / "src" / "a.py"
    path.parent.mkdir()
    text = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
    path.write_text(text)
    (tmp_path / "requirements.txt").write_text("torch>=1.12\n")
    fix = ("check", path, "--fix", "--extend-select", "deprecated-amp-api")
    code, out, _ = oomph(*fix)
    assert code == 0 and "deprecated-amp-api" in out and path.read_text() == text
    (tmp_path / "requirements.txt").write_text("torch>=2.4\n")
    assert "deprecated-amp-api" not in oomph(*fix)[1] and "torch.amp.GradScaler" in path.read_text()


def test_junit_is_xml(oomph, odd):
    _, out, _ = oomph("check", SAMPLES, odd, "--output-format", "junit")
    root = xml.etree.ElementTree.fromstring(out)
    assert root.tag == "testsuites"
    findings = json.loads(oomph("check", SAMPLES, odd, "--json")[1])["findings"]
    assert int(root.get("failures")) == len(root.findall("testsuite/testcase/failure")) == len(findings) > 0
    assert int(root.get("errors")) == len(root.findall("testsuite/testcase/error")) == 1
    assert int(root.get("tests")) == len(root.findall("testsuite/testcase"))
    assert any(case.get("classname").endswith("a b&<é>.py") for case in root.iter("testcase"))


def test_json_edits_do_what_fix_does(oomph, odd):
    path = odd / "a b&<é>.py"
    [finding] = json.loads(oomph("check", path, "--json")[1])["findings"]
    lines = path.read_text().split("\n")
    for edit in finding["fix"]["edits"]:
        line = lines[edit["line"] - 1]
        assert edit["line"] == edit["end_line"]
        lines[edit["line"] - 1] = line[: edit["column"] - 1] + edit["text"] + line[edit["end_column"] - 1 :]
    assert oomph("check", path, "--fix")[0] == 0
    assert path.read_text() == "\n".join(lines)


def test_hooks_are_what_pre_commit_wants(oomph, tmp_path):
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language"} <= hook.keys()
    command, *args = hook["entry"].split()
    assert command == "oomph"
    (tmp_path / "a.py").write_text("import torch\ntorch.empty_cache()\n")
    done = subprocess.run([oomph.path, *args, "a.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "unknown-memory-api" in done.stdout, done.stderr
