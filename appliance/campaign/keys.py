"""Any key, on any console of a measured boot.

Raw reading of the terminals, without a line editor.
"""

import os
import select
import termios
import time
import tty
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

_CONSOLES = ("/dev/tty1", "/dev/ttyS0")


class Consoles:
    """The consoles a person may stand at.

    What is said reaches all of them, a key on any of them counts.
    """

    def __init__(self) -> None:
        self._modes: dict[int, list[Any]] = {}

    def __enter__(self) -> Self:
        for path in _CONSOLES:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                self._modes[descriptor] = termios.tcgetattr(descriptor)
                # Raw: Ctrl-C and Ctrl-S are keys like any other.
                tty.setraw(descriptor)
                termios.tcflush(descriptor, termios.TCIFLUSH)
            except termios.error:  # a console that is no terminal: it can still be written to
                self._modes[descriptor] = []
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for descriptor, mode in self._modes.items():
            with suppress(termios.error):  # it hung up
                if mode:
                    termios.tcsetattr(descriptor, termios.TCSANOW, mode)
            os.close(descriptor)
        self._modes.clear()

    def say(self, text: str) -> None:
        """Write a line; a console that does not take it is left out."""
        for descriptor in self._modes:
            try:
                os.write(descriptor, f"{text}\r\n".encode())
            except OSError:
                continue

    def key_pressed(self, within_s: float) -> bool:
        """Wait for any key."""
        until_s = time.monotonic() + within_s
        while (left_s := until_s - time.monotonic()) > 0:
            ready, _, _ = select.select(list(self._modes), [], [], left_s)
            for descriptor in ready:
                try:
                    if os.read(descriptor, 64):
                        return True
                except OSError:
                    pass
                self._forget(descriptor)
        return False

    def _forget(self, descriptor: int) -> None:
        """Leave out a console that hung up: it would be ready for ever."""
        del self._modes[descriptor]
        os.close(descriptor)
