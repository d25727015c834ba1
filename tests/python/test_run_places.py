"""`oomph run` where there is no home to write to, and with more processes than any machine has cores."""

import pathlib

from running import recorded

JOB = """
import torch
model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.randn(32, 256, device="cuda")).sum().backward()
    optimizer.step()
print("done")
"""

#: Every worker is alive at once, and each was forked from a process that is recorded.
MANY_WORKERS = """
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.full((16,), float(index))


if __name__ == "__main__":
    model = torch.nn.Linear(16, 16).cuda()
    loader = DataLoader(Numbers(), batch_size=2, num_workers=64, multiprocessing_context="fork")
    total = sum(float(batch.sum()) + 0 * model(batch.cuda()).sum().item() for batch in loader)
    print(int(total))
"""


def test_a_home_that_nobody_can_write_to(oomph, script, tmp_path):
    # Not even root can make a folder there.
    places = {"HOME": "/proc", "XDG_STATE_HOME": "/proc/state", "XDG_CACHE_HOME": "/proc/cache", "OOMPH_BOXES": "/proc/boxes"}
    ran = recorded(oomph, tmp_path, script(JOB), environment=places)
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert ran.account["steps"] == 3 and ran.account["peak_allocated_bytes"] > 0


def test_no_folder_at_all(oomph, script, tmp_path):
    """The boxes are in oomph's own memory then: only where the temporary folders of the system are missing too."""
    places = {"HOME": "/proc", "XDG_STATE_HOME": "/proc/state", "OOMPH_BOXES": "/proc/boxes", "TMPDIR": "/proc/tmp"}
    ran = recorded(oomph, tmp_path, script(JOB), environment=places)
    assert (ran.code, ran.out) == (0, "done\n"), ran.err


def test_sixty_four_workers(oomph, script, tmp_path):
    ran = recorded(oomph, tmp_path, script(MANY_WORKERS), environment={"OOMPH_BOX_BYTES": str(4 << 20)})
    assert (ran.code, ran.out) == (0, f"{16 * sum(range(256))}\n"), ran.err
    # Workers that use no card and allocate nothing leave no box behind.
    assert len([path for path in ran.boxes if pathlib.Path(path).stat().st_size]) <= 65
    assert ran.account["peak_allocated_bytes"] > 0
