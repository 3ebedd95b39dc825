# SPDX-License-Identifier: Apache-2.0
"""Runs inside the machine: types on the interface as a person does, and times what it draws.

Handed in as text, so it imports only what the image has; it runs outside the emulation as well.
Each program gets a terminal of its own (a pty), so neither the emulated screen nor the serial line
is in the times, which are those of the machine's own clock. Says KEY VALUE lines, in seconds.
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Self

_LINES, _COLUMNS = 50, 128
_ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]")
_SETTLED_S = 0.3
_PATIENCE_S = 120.0
_LOADING_S = 5.0
_TUI = ["python3", "-m", "tui"]
# What the image's Python leaves off until a program has loaded (appliance/bytecode.py) is on again.
_EMPTY = ["python3", "-c", """
import gc; gc.enable()
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("ready")
    def on_key(self, event):
        self.query_one(Static).update("got " + event.key)
Empty(ansi_color=True).run(mouse=False)
"""]  # fmt: skip
_DOWN, _UP = b"\x1b[B", b"\x1b[A"
_PAGES = {
    b"2": b"[2 Plan]",
    b"3": b"[3 Run]",
    b"4": b"[4 Results]",
    b"5": b"[5 Machine]",
    b"1": b"[1 Drives]",
}
_ROUNDS, _ARROWS = 8, 6


def _take_terminal() -> None:
    """In the child: its standard input becomes the terminal that tells it of another size."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Typist:
    """A program on a terminal, and a user at its keys.

    It begins like any other program, and so an empty page stays; the interface steps back itself.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.begun_s = time.monotonic()
        self._drawn = b""
        self._terminal, other = pty.openpty()
        self.resize(columns=_COLUMNS, lines=_LINES)
        self._process = subprocess.Popen(
            words,
            stdin=other,
            stdout=other,
            stderr=other,
            env={**os.environ, "TERM": "linux"},
            preexec_fn=_take_terminal,  # noqa: PLW1509  # there are no threads here
        )
        os.close(other)
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def wait_for(self, *wanted: bytes, since_s: float) -> float:
        """Seconds until all of these had been drawn. Raises TimeoutError."""
        give_up_s = time.monotonic() + _PATIENCE_S
        while True:
            ready, _, _ = select.select([self._terminal], [], [], 1.0)
            now_s = time.monotonic()
            self._drawn += os.read(self._terminal, 1 << 16) if ready else b""
            plain = self.drawn
            if all(each in plain for each in wanted):
                return now_s - since_s
            if now_s > give_up_s:
                raise TimeoutError(f"{wanted!r} was not drawn, but {plain[-300:]!r}")

    def time_start(self, *wanted: bytes) -> float:
        """Seconds from its start to what it draws."""
        return self.wait_for(*wanted, since_s=self.begun_s)

    def time_key(self, key: bytes, wanted: bytes) -> float:
        """Seconds from a key, pressed when all is quiet, to what it leads to."""
        while self.listen(_SETTLED_S):
            pass
        pressed_s = time.monotonic()
        self.press(key)
        return self.wait_for(wanted, since_s=pressed_s)

    def resize(self, *, columns: int, lines: int) -> None:
        """Tell the kernel another size of the terminal; 0 and 0: it knows none."""
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def get_size(self) -> tuple[int, int]:
        """Columns and lines that the kernel knows of."""
        columns, lines = os.get_terminal_size(self._terminal)
        return columns, lines

    def press(self, key: bytes) -> None:
        """Press it now, whatever is being drawn."""
        os.write(self._terminal, key)

    @property
    def drawn(self) -> bytes:
        """The text of what it has drawn, as far as it was read, since `forget` or `listen`."""
        return _ESCAPE.sub(b"", self._drawn)

    def forget(self) -> None:
        """What was read until now is over; what is drawn but not read is yet to come."""
        self._drawn = b""

    def listen(self, patience_s: float) -> bytes:
        """The next it draws, empty where nothing comes in that time; what came before is over."""
        self.forget()
        ready, _, _ = select.select([self._terminal], [], [], patience_s)
        return os.read(self._terminal, 1 << 16) if ready else b""

    def read_memory_kib(self) -> int:
        """Its share of the RAM it uses (PSS)."""
        lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def say(key: str, *values: float) -> None:
    """One line for the lab."""
    print(key, *(f"{each:.4g}" for each in values), flush=True)


def _type_pages(typist: Typist) -> list[float]:
    """Once around all pages."""
    return [typist.time_key(*page) for page in _PAGES.items()]


def _plan_arrows(serials: Sequence[str]) -> Iterator[tuple[bytes, bytes]]:
    """Down to the last drive and up again, for ever; what is waited for is below the table."""
    there, back = serials[1:], serials[-2::-1]
    way = [*((_DOWN, each) for each in there), *((_UP, each) for each in back)]
    return cycle([(key, f"Serial {each}".encode()) for key, each in way])


def _type_empty(typist: Typist) -> list[float]:
    return [typist.time_key(key, b"got " + key) for key in (b"a", b"b", b"c")]


def _type_in_turn(empty: Typist, tui: Typist, serials: Sequence[str]) -> dict[str, list[float]]:
    """A few keys at a time here and there: what changes the machine's speed changes all alike."""
    arrows = _plan_arrows(serials)
    times: dict[str, list[float]] = {"empty": [], "arrows": [], "pages": []}
    for _ in range(_ROUNDS):
        times["empty"] += _type_empty(empty)
        times["arrows"] += [tui.time_key(*arrow) for arrow in islice(arrows, _ARROWS)]
        times["empty"] += _type_empty(empty)
        times["pages"] += _type_pages(tui)
    # The list is as it was.
    for arrow in islice(arrows, -_ROUNDS * _ARROWS % (2 * len(serials) - 2)):
        tui.time_key(*arrow)
    return times


def time_keys(serials: Sequence[str], load: Sequence[str]) -> None:
    """Start, memory, and keys: with nothing beside them, then while `load` runs."""
    with Typist(_EMPTY) as empty, Typist(_TUI) as tui:
        empty.time_start(b"ready")
        tui.time_start(*map(str.encode, serials))
        _type_pages(tui)
        say("memory-kib", tui.read_memory_kib())
        for key, times in _type_in_turn(empty, tui, serials).items():
            say(key, *times)
        if not load:
            return
        with subprocess.Popen(load, stdout=subprocess.DEVNULL, start_new_session=True) as beside:
            time.sleep(_LOADING_S)
            for key, times in _type_in_turn(empty, tui, serials).items():
                say(f"loaded-{key}", *times)
            if beside.poll() is not None:
                raise RuntimeError(f"{load[0]} ended before the keys did: {beside.returncode}")
            beside.terminate()


def time_starts(serials: Sequence[str], engine: Sequence[str]) -> None:
    """An empty page; then the interface with its list, which `engine` is started to make."""
    with Typist(_EMPTY) as empty:
        say("start-empty", empty.time_start(b"ready"))
    if engine:
        subprocess.run(engine, check=True)
    with Typist(_TUI) as tui:
        say("start-page", tui.time_start(b"[1 Drives]"))
        say("start-list", tui.time_start(*map(str.encode, serials)))


def main() -> None:
    """Keys | starts, the drives' serial numbers in the list's order, and a command."""
    what, serials, *command = sys.argv[1:]
    {"keys": time_keys, "starts": time_starts}[what](serials.split(","), command)


if __name__ == "__main__":
    main()
