"""Where a tensor's memory lies is what its storage says, and nobody has to ask for that."""

import random
import sys

import torch

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.watching.reaching import begin_of, reach_of  # noqa: E402


def views(chance):
    """A tensor, and others that look at parts of the same memory in their own ways."""
    sizes = [chance.randrange(1, 6) for _ in range(chance.randrange(1, 5))]
    tensor = torch.zeros(sizes, dtype=chance.choice([torch.float64, torch.int8, torch.bfloat16]))
    yield tensor
    for _ in range(4):
        how = chance.choice(["transpose", "slice", "expand", "select"])
        if how == "transpose":
            tensor = tensor.transpose(0, -1)
        elif how == "slice" and tensor.shape[0] > 1:
            tensor = tensor[chance.randrange(tensor.shape[0] - 1) :: chance.randrange(1, 3)]
        elif how == "expand":
            tensor = tensor.unsqueeze(0).expand(3, *tensor.shape)
        elif how == "select" and tensor.dim() > 1:
            tensor = tensor.select(0, tensor.shape[0] - 1)
        yield tensor


def test_every_view_tells_where_its_storage_is():
    chance = random.Random(3)
    for _ in range(300):
        for at, tensor in enumerate(views(chance)):
            storage = tensor.untyped_storage()
            assert begin_of(tensor) == storage.data_ptr()
            # The last element that it names is the last byte that it reaches.
            numbers = torch.arange(storage.nbytes() // tensor.element_size())
            indices = numbers.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
            assert reach_of(tensor) == (int(indices.max()) + 1) * tensor.element_size() <= storage.nbytes()
            assert at or reach_of(tensor) == storage.nbytes()


def test_a_tensor_without_memory_begins_nowhere():
    assert begin_of(torch.empty(0)) == 0
