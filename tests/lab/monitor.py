# SPDX-License-Identifier: Apache-2.0
"""The monitor at the VGA socket: its text can be read, and keys are pressed before it."""

import re
import tempfile
import time
from pathlib import Path

from PIL import Image

from tests.lab.machine import PATIENCE_S, LabTimeoutError, Machine
from tests.lab.psf import ConsoleFont
from tests.lab.screentext import read_screen

_POLL_S = 0.3


class Monitor:
    """The console of one power-on, as a user in front of the machine has it."""

    def __init__(self, machine: Machine, font: ConsoleFont) -> None:
        self._machine = machine
        self._font = font
        self._read = (b"", "")

    def text(self) -> str:
        """The text on it now, without the sides of frames; see `read_screen`."""
        with tempfile.TemporaryDirectory(prefix="kaltlab-") as folder:
            path = self._machine.screenshot(Path(folder) / "monitor.ppm")
            content = path.read_bytes()
            if content != self._read[0]:
                with Image.open(path) as picture:
                    lines = read_screen(picture, self._font).replace("│", " ").splitlines()
                    self._read = (content, "\n".join(map(str.rstrip, lines)))
        return self._read[1]

    def wait_for(self, pattern: str, *, timeout_s: float = PATIENCE_S) -> re.Match[str]:
        """Wait until the text there has `pattern` in it, lines being lines."""
        wanted = re.compile(pattern, re.MULTILINE)
        deadline = time.monotonic() + timeout_s
        while not (match := wanted.search(self.text())):
            if time.monotonic() > deadline:
                raise LabTimeoutError(f"no {pattern!r} on the monitor:\n{self.text()}")
            time.sleep(_POLL_S)
        return match

    def wait_gone(self, pattern: str) -> None:
        """Wait until it no longer exists."""
        unwanted = re.compile(pattern, re.MULTILINE)
        deadline = time.monotonic() + PATIENCE_S
        while unwanted.search(self.text()):
            if time.monotonic() > deadline:
                raise LabTimeoutError(f"{pattern!r} stays on the monitor:\n{self.text()}")
            time.sleep(_POLL_S)

    def press(self, *chords: str) -> None:
        """Press keys by QEMU's names."""
        self._machine.press(*chords)

    def type(self, text: str) -> None:
        """Type text as on a US keyboard."""
        self._machine.type(text)
