"""The status line of `oomph run`: in the terminal's last row, and never in the way of the script."""

import sys

from hollow_card import hollow_environment
from terminal import Terminal

#: Prints lines and draws a bar on stderr, as tqdm does, for longer than the line takes to appear.
TALKING = """
import sys, time, torch
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(120):
    optimizer.zero_grad()
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    if step % 8 == 0:
        print(f"\\rloss of step {step:3} is fine" + " " * 10)
    print(f"\\r{step:3}/120 |" + "#" * (step // 8), end="", file=sys.stderr, flush=True)
    time.sleep(0.06)
print("\\nall done")
"""


def environment(tmp_path):
    boxes = tmp_path / "boxes"
    boxes.mkdir(mode=0o700)
    return {**hollow_environment(), "OOMPH_BOXES": str(boxes), "XDG_STATE_HOME": str(tmp_path / "state"), "TERM": "xterm"}


def rows(terminal):
    return [row.rstrip() for row in terminal.screen.display]


def test_a_talking_script_keeps_its_rows(oomph, script, tmp_path):
    command = [oomph.path, "run", "--python", sys.executable, script(TALKING)]
    with Terminal(command, columns=100, rows=14, environment=environment(tmp_path)) as terminal:
        shown = set()

        def moved_on():
            *told, last = rows(terminal)
            if last.startswith("oomph  step"):
                shown.add(last.split(" · ")[0])
                assert not any("oomph" in row for row in told), told
                assert all(row == "" or row.startswith("loss of step") or "/120 |" in row for row in told), told
            return len(shown) > 2

        terminal.wait_until(moved_on, 90, "a line that moves on")
        assert terminal.end(90) == 0
        text = terminal.printed.decode()
        assert text.count("is fine") == 15 and "all done" in text
        assert text.rindex("\x1b[r") > text.rindex("\x1b[1;13r"), "every row scrolls again"
        assert not any(row.startswith("oomph  step") for row in rows(terminal)), "nothing is left behind"


def test_no_line_where_stderr_is_no_terminal(oomph, script, tmp_path):
    words = f"{oomph.path} run --python {sys.executable} {script(TALKING)} 2> {tmp_path / 'stderr'}"
    with Terminal(["sh", "-c", words], columns=100, rows=14, environment=environment(tmp_path)) as terminal:
        assert terminal.end(90) == 0
        assert b"oomph" not in terminal.printed and b"\x1b[1;13r" not in terminal.printed
    assert "\x1b" not in (tmp_path / "stderr").read_text(), "no codes in a file"
