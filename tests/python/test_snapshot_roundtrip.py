"""What oomph writes is what PyTorch wrote: judged by Python's pickle and by PyTorch's own memory_viz."""

import base64
import gzip
import importlib.util
import json
import pickle
import re
import subprocess
from pathlib import Path

import pytest
from building import example

ROOT = Path(__file__).parents[2]
SNAPSHOTS = sorted((ROOT / "corpus").glob("h200/**/*.pickle.gz"))


@pytest.fixture(scope="session")
def roundtrip():
    """The program that reads a trace and writes it as a torch snapshot."""
    return example("roundtrip")


@pytest.fixture(scope="session")
def memory_viz():
    """torch/cuda/_memory_viz.py on its own, without the seconds that importing torch takes."""
    torch = importlib.util.find_spec("torch")
    spec = importlib.util.spec_from_file_location("_memory_viz", Path(torch.origin).parent / "cuda/_memory_viz.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=SNAPSHOTS, ids=lambda path: path.name.removesuffix(".pickle.gz"))
def pair(request, roundtrip, tmp_path_factory):
    """A recorded snapshot, and the same after oomph has read and written it."""
    written = tmp_path_factory.mktemp("written") / "snapshot.pickle"
    subprocess.run([roundtrip, request.param, written], check=True)
    return pickle.loads(gzip.open(request.param).read()), pickle.loads(written.read_bytes())


def same(left, right):
    """Equal, and of equal types all the way down: True is not 1 here."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def test_corpus_is_there():
    assert len(SNAPSHOTS) >= 25


def test_nothing_is_lost_and_nothing_added(pair):
    original, written = pair
    assert list(written) == list(original)
    assert same(original, written)


def test_frames_are_shared_as_torch_shares_them(pair):
    _, written = pair
    frames = [frame for trace in written["device_traces"] for event in trace for frame in event.get("frames", [])]
    distinct = {(frame["name"], frame["filename"], frame["line"]) for frame in frames}
    assert len({id(frame) for frame in frames}) <= len(distinct)


@pytest.mark.parametrize("view", ["memory", "segments"])
def test_flame_graphs_agree(pair, memory_viz, view):
    lines = [getattr(memory_viz, view)(snapshot, format_flamegraph=lambda text: text) for snapshot in pair]
    assert lines[0] == lines[1]
    assert lines[0]


@pytest.mark.parametrize("view", ["segsum", "trace"])
def test_text_views_agree(pair, memory_viz, view):
    texts = [getattr(memory_viz, view)(snapshot) for snapshot in pair]
    assert texts[0] == texts[1]
    assert texts[0]


@pytest.mark.parametrize("view", ["trace_plot", "segment_plot"])
def test_pages_hold_the_same_data(pair, memory_viz, view):
    def data(snapshot):
        page = getattr(memory_viz, view)(snapshot)
        return pickle.loads(base64.b64decode(re.search(r'"base64": "([^"]+)"', page).group(1)))

    assert data(pair[0]) == data(pair[1])


def test_own_file_leads_back_to_the_snapshot(roundtrip, tmp_path):
    original = ROOT / "corpus/h200/special_anomaly.pickle.gz"
    subprocess.run([roundtrip, original, tmp_path / "trace.oomph"], check=True)
    subprocess.run([roundtrip, tmp_path / "trace.oomph", tmp_path / "back.pickle"], check=True)
    assert same(pickle.loads(gzip.open(original).read()), pickle.loads((tmp_path / "back.pickle").read_bytes()))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_is_read(roundtrip, tmp_path, protocol):
    original = pickle.loads(gzip.open(ROOT / "corpus/h200/run_mlp.pickle.gz").read())
    (tmp_path / "in.pickle").write_bytes(pickle.dumps(original, protocol=protocol))
    subprocess.run([roundtrip, tmp_path / "in.pickle", tmp_path / "out.pickle"], check=True)
    assert same(original, pickle.loads((tmp_path / "out.pickle").read_bytes()))


def test_json_rendering_is_read(roundtrip, tmp_path):
    original = pickle.loads(gzip.open(ROOT / "corpus/h200/special_graph.pickle.gz").read())
    (tmp_path / "in.json").write_text(json.dumps(original))
    subprocess.run([roundtrip, tmp_path / "in.json", tmp_path / "out.pickle"], check=True)
    assert same(original, pickle.loads((tmp_path / "out.pickle").read_bytes()))


def test_what_oomph_does_not_know_comes_back(roundtrip, tmp_path):
    """Keys and actions that no torch writes yet, and keys that are missing."""
    snapshot = {
        "segments": [],
        "device_traces": [
            [],
            [
                {"action": "defragment", "addr": 5, "size": 6, "stream": 7, "time_us": 8, "reason": ("a", [1.5, None])},
                {"action": "alloc", "addr": 2**63 + 5, "size": 1, "stream": 0, "time_us": 9, "pool_id": (0, 1),
                 "frames": [{"name": "f", "filename": "a.py", "line": 3, "fx_node_op": "call_function"}]},
                {"action": "alloc", "addr": 4, "size": 1, "stream": 0, "time_us": 9, "category": "temporary"},
            ],
        ],
        "allocator_settings": {"max_split_size": -1, "from_the_future": {"a": b"bytes"}},
        "external_annotations": [{"name": "x", "device": 0, "time_us": 1, "stage": "PAUSE", "metadata": "m"}],
        "host_traces": [[{"action": "alloc", "addr": 1, "size": 2, "frames": [{"name": "g", "filename": "b", "line": 1}]}]],
    }
    (tmp_path / "in.pickle").write_bytes(pickle.dumps(snapshot))
    subprocess.run([roundtrip, tmp_path / "in.pickle", tmp_path / "out.pickle"], check=True)
    assert same(snapshot, pickle.loads((tmp_path / "out.pickle").read_bytes()))
