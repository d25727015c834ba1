"""Loaders that keep less on the host, and hand out the same batches in the same order."""

from __future__ import annotations

from typing import Any

import pytest
import remedied

SCRIPT = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
data = TensorDataset(torch.arange(4000.).reshape(40, 100))
loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=2, prefetch_factor=4, pin_memory=False,
                    persistent_workers=True, timeout=60)
batches = [batch for (batch,) in loader]
plain = [batch for (batch,) in DataLoader(data, 8)]
RESULT = {"batches": batches, "plain": plain,
          "options": [loader.num_workers, loader.prefetch_factor or 0, len(loader)]}
"""


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"workers": 1}, [1, 4]),
        ({"workers": 0}, [0, 0]),
        ({"prefetch_factor": 1}, [2, 1]),
        # A batch has 1,600 bytes.
        ({"host_bytes": 2 * 3 * 1600}, [2, 3]),
        ({"host_bytes": 1600}, [1, 1]),
        ({"host_bytes": 1}, [1, 1]),
    ],
)
def test_batches_stay_the_same(bounds: dict[str, Any], expected: list[int]) -> None:
    plain, bounded = remedied.run(SCRIPT), remedied.run(SCRIPT, {"name": "bounded_loaders", **bounds})
    assert plain.result["options"] == [2, 4, 10]
    assert bounded.result["options"] == [*expected, 10]
    assert remedied.difference(plain.result["batches"], bounded.result["batches"]) == 0.0
    assert remedied.difference(plain.result["plain"], bounded.result["plain"]) == 0.0
    assert len(bounded.of("applied")) == 1
    assert bounded.of("applied")[0]["num_workers_before"] == 2
    assert len(bounded.of("note")) == (expected[0] != 2)


def test_loader_within_its_bounds_is_left_alone() -> None:
    bounded = remedied.run(SCRIPT, {"name": "bounded_loaders", "workers": 8, "host_bytes": 1 << 30, "pin_memory": True})
    assert bounded.result["options"] == [2, 4, 10]
    assert bounded.of("applied") == []


def test_wrong_arguments_are_pytorchs_to_refuse() -> None:
    wrong = """
    from torch.utils.data import DataLoader
    try:
        DataLoader([1, 2], batch_size=0, num_workers=2)
        RESULT = {"why": 0}
    except ValueError as error:
        RESULT = {"why": len(str(error))}
    """
    plain, bounded = remedied.run(wrong), remedied.run(wrong, {"name": "bounded_loaders", "workers": 1})
    assert plain.result == bounded.result
    assert plain.result["why"] > 0


def test_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(remedied.ROOT / "python"))
    import torch
    from oomph.remedies.bounded_loaders import bounded_loader
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.arange(40.0).reshape(20, 2))
    loader: Any = DataLoader(data, batch_size=4, num_workers=3, pin_memory=True, shuffle=True)
    torch.manual_seed(0)
    bounded = bounded_loader(loader, workers=0, pin_memory=False)
    assert (bounded.num_workers, bounded.pin_memory) == (0, False)
    batches = [batch for (batch,) in bounded]
    torch.manual_seed(0)
    expected = [batch for (batch,) in DataLoader(data, batch_size=4, shuffle=True)]
    assert remedied.difference(expected, batches) == 0.0
    assert bounded_loader(bounded, workers=2) is bounded
