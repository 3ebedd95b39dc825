# SPDX-License-Identifier: Apache-2.0
"""Where the interface is looked at and typed into: the VGA console, or a terminal at the line."""

import time
from pathlib import Path
from typing import Protocol

from PIL import Image

from tests.lab.machine import LabTimeoutError, Machine
from tests.lab.picture import Colour, draw_screen
from tests.lab.psf import ConsoleFont
from tests.lab.terminal import Terminal

COLUMNS, ROWS = 80, 24
_QEMU_KEYS = {"Enter": "ret", "Escape": "esc", "Space": "spc"}
_SETTLE_TURNS = 40
_UP_S = 120
_BRIGHT = 100
_ESCAPE_S = 1.0
"""What follows an Escape sooner than the interface takes it for a key is one sequence with it."""


class View(Protocol):
    """One console. Keys are named as tmux names them."""

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""

    def photograph(self, path: Path, *, moving: bool = False) -> None:
        """A PNG of what it shows; of a settled screen that is not the one before, unless `moving`.

        Raises LabTimeoutError where the screen stays as it was.
        """

    def settle(self) -> None:
        """Wait until it shows something else than before, and rests. Raises LabTimeoutError."""


class ScreenView:
    """The machine's own screen and keyboard; `scratch` is a PNG it may overwrite."""

    def __init__(self, machine: Machine, scratch: Path) -> None:
        self._machine = machine
        self._scratch = scratch
        self._before = b""

    def wait_until_up(self) -> None:
        """Wait for the header, a bright line from one edge of the screen to the other."""
        deadline = time.monotonic() + _UP_S
        while True:
            with Image.open(self._machine.screenshot(self._scratch)) as picture:
                line = picture.convert("L").crop((0, 1, picture.width, 2)).tobytes()
            if min(line[0], line[-1]) > _BRIGHT:
                return
            if time.monotonic() > deadline:
                raise LabTimeoutError(f"no interface on the screen: {self._scratch}")
            time.sleep(1)

    def press(self, *keys: str) -> None:
        """By QEMU's names."""
        for key in keys:
            self._machine.press(_QEMU_KEYS.get(key, key.lower()))
            time.sleep(_ESCAPE_S if key == "Escape" else 0)

    def photograph(self, path: Path, *, moving: bool = False) -> None:
        """What QEMU's display device shows."""
        if moving:
            self._before = self._machine.screenshot(path).read_bytes()
        else:
            self._settle(path)

    def settle(self) -> None:
        """Two in a row are alike."""
        self._settle(self._scratch)

    def _settle(self, path: Path) -> None:
        now = self._machine.settled_screenshot(path, unlike=self._before)
        if now == self._before:
            raise LabTimeoutError(f"the screen does not change: {path}")
        self._before = now


class TerminalView:
    """A terminal of 80×24, drawn with the console's font; its text goes beside the picture."""

    def __init__(
        self, terminal: Terminal, *, font: ConsoleFont, palette: tuple[Colour, ...]
    ) -> None:
        self._terminal = terminal
        self._font, self._palette = font, palette
        self._before = ""

    def press(self, *keys: str) -> None:
        """By tmux's names."""
        for key in keys:
            self._terminal.send(key)
            time.sleep(_ESCAPE_S if key == "Escape" else 0)

    def photograph(self, path: Path, *, moving: bool = False) -> None:
        """What tmux took the line's bytes for."""
        if moving:
            self._before = self._terminal.screen(styled=True)
        else:
            self.settle()
        path.with_suffix(".txt").write_text(self._terminal.screen())
        picture = draw_screen(
            self._before, font=self._font, palette=self._palette, columns=COLUMNS, rows=ROWS
        )
        picture.save(path)

    def settle(self) -> None:
        """Two in a row are alike."""
        last = ""
        for _ in range(_SETTLE_TURNS):
            time.sleep(1)
            now = self._terminal.screen(styled=True)
            if now == last and now != self._before:
                self._before = now
                return
            last = now
        raise LabTimeoutError(f"the terminal does not change, or does not rest:\n{last}")
