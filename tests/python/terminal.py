"""A terminal of a test's own: a program runs on a pty, and what it draws can be read."""

import errno
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import pyte

#: How programs take the screen and the mouse, and give them back.
TAKES, GIVES_BACK = b"\x1b[?1049h", b"\x1b[?1049l"
MOUSE_ON, MOUSE_OFF = b"\x1b[?1000h", b"\x1b[?1000l"


class Terminal:
    """Runs a command on a pty of a given size."""

    def __init__(self, command, columns=80, rows=24, environment=None):
        self.keeper, self.own = pty.openpty()
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.printed = b""
        self._set_size(columns, rows)
        self.modes_before = self.modes()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.own, termios.TIOCSCTTY, 0)
            for stream in range(3):
                os.dup2(self.own, stream)
            environment = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environment or os.environ)}
            os.execvpe(command[0], [str(word) for word in command], environment)
        self.status = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.keeper)
        os.close(self.own)

    def _set_size(self, columns, rows):
        fcntl.ioctl(self.own, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        """Changes the size; the kernel tells the program."""
        self.screen.resize(rows, columns)
        self._set_size(columns, rows)

    def modes(self):
        """How the terminal treats what is typed."""
        return termios.tcgetattr(self.own)[:4]

    def press(self, keys):
        os.write(self.keeper, keys.encode())

    def read(self, seconds=0.05):
        """Takes what the program has drawn."""
        while select.select([self.keeper], [], [], seconds)[0]:
            try:
                found = os.read(self.keeper, 1 << 16)
            except OSError as problem:
                if problem.errno == errno.EIO:
                    return
                raise
            self.printed += found
            self._stream.feed(found)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, *texts, seconds=30):
        """Waits until all texts are on the screen."""
        self.wait_until(lambda: all(text in self.text() for text in texts), seconds, texts)

    def wait_until(self, is_so, seconds=30, about=""):
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, f"not seen in {seconds} s: {about}\n{self.text()}"
            self.read()

    def wait_for_state(self, letter, seconds=10):
        """Waits until the kernel has the process in a state: `T` is stopped."""

        def state():
            with open(f"/proc/{self.pid}/stat") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0]

        self.wait_until(lambda: state() == letter, seconds, f"state {letter}")

    def end(self, seconds=10):
        """Waits for the program to end; returns its exit code, negative for a signal."""
        end = time.monotonic() + seconds
        while True:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                self.read()
                return self.status
            assert time.monotonic() < end, f"still running\n{self.text()}"

    def is_given_back(self):
        """Whether screen, mouse and modes are as they were."""
        self.read()
        gave_back = self.printed.rfind(GIVES_BACK) > self.printed.rfind(TAKES) >= 0
        return gave_back and self.printed.rfind(MOUSE_OFF) > self.printed.rfind(MOUSE_ON) and self.modes() == self.modes_before
