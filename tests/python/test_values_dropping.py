"""What is let go of where memory for values is short."""

import sys
import weakref

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
import torch  # noqa: E402

from oomph.values.budget import Budget  # noqa: E402
from oomph.values.nodes import Node  # noqa: E402
from oomph.values.working import Worker  # noqa: E402


class Crowded(Budget):
    """Memory that is short until so many results are gone."""

    def __init__(self, gone):
        super().__init__(60, 1 << 40)
        self.gone = gone

    def is_crowded(self):
        self.gone -= 1
        return self.gone > 0


def kept_after(gone):
    """Which of four results are known after so many had to go: weights that were made on the card, and three of graphs."""
    worker = Worker(torch, Crowded(gone), lambda: None)
    table = {}
    for name in ("weights", "first", "second", "third"):
        node = table[name] = Node(1 << 20)
        node.data, node.is_of_graph = worker.blank(1), name != "weights"
        worker._results[not node.is_of_graph].append(weakref.ref(node))
        del node
    worker._drop_results()
    return [name for name in table if table[name].is_known]


def test_what_is_kept_for_gradients_goes_first_and_the_oldest_of_it():
    assert kept_after(1) == ["weights", "second", "third"]
    assert kept_after(2) == ["weights", "third"]


def test_weights_go_last():
    assert kept_after(3) == ["weights"]
    assert kept_after(4) == []
