"""Any key: on any console of a measured boot, and beside the interface in the appliance.

A terminal hands each key to one reader only. So the engine reads the keyboards' event devices
beside the interface, of which every reader gets all: a key that the interface hears too is no less
heard by it, and one that it does not (it hangs, it crashed, a shell has its terminal) is heard all
the same. A serial line has no such device. It is read only while its interface shows no sign of
life; a key that one in its last breath takes away is to be pressed once more.
"""

import os
import select
import struct
import termios
import time
import tty
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from appliance.serial_lines import find_serial_lines, set_speed

_INPUT = Path("/dev/input")
_EVENT = struct.Struct("llHHi")
"""struct input_event in linux/input.h: time, type, code, value."""
_EV_KEY = 1
_PRESSED = 1
_BUTTONS_OF_THE_CASE = range(113, 117)
"""Volume and power, in linux/input-event-codes.h; Esc is 1, the last one of a keyboard 127."""
_ORDINARY_KEYS = frozenset(range(1, 128)) - frozenset(_BUTTONS_OF_THE_CASE)
ALIVE = "tui-alive-"
"""In /run/kaltstart, with a terminal's name: touched by its interface while it can hear keys."""
_SILENT_S = 10


@cache
def find_consoles() -> tuple[str, ...]:
    """The screen and the serial lines of this machine; where no interface is, at their speed."""
    lines = find_serial_lines()
    for line in lines:
        set_speed(line)
    return ("/dev/tty1", *(f"/dev/{line.name}" for line in lines))


class Consoles:
    """The consoles a person may stand at.

    What is said reaches all of them, a key on any of them counts.
    """

    def __init__(self, paths: Sequence[str] | None = None) -> None:
        self._paths = find_consoles() if paths is None else paths
        self._modes: dict[int, list[Any]] = {}

    def __enter__(self) -> Self:
        for path in self._paths:
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
        """Wait for any key; with no time to wait, whether there is one."""
        until_s = time.monotonic() + within_s
        first = True
        while (left_s := until_s - time.monotonic()) > 0 or first:
            first = False
            ready, _, _ = select.select(list(self._modes), [], [], max(0, left_s))
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


class Listener:
    """Hears keys in a countdown of the appliance, whatever has become of the interface."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._open = ExitStack()
        self._keyboards: list[int] = []
        self._consoles = Consoles(())

    def __enter__(self) -> Self:
        for path in sorted(_INPUT.glob("event*")):
            with suppress(OSError):
                keyboard = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                self._keyboards.append(keyboard)
                self._open.callback(os.close, keyboard)
        silent = [path for path in find_consoles() if not self._is_alive(path)]
        self._consoles = self._open.enter_context(Consoles(silent))
        return self

    def __exit__(self, *_: object) -> None:
        self._keyboards.clear()
        self._open.close()

    def say(self, text: str) -> None:
        """Write a line where no interface shows it."""
        self._consoles.say(text)

    def is_pressed(self) -> bool:
        """Whether a key was pressed since the last time."""
        pressed = False
        for keyboard in self._keyboards:
            # One that was pulled out has nothing more to say.
            with suppress(OSError):
                while events := os.read(keyboard, 64 * _EVENT.size):
                    pressed |= _holds_key(events)
        return self._consoles.key_pressed(within_s=0) or pressed

    def _is_alive(self, console: str) -> bool:
        try:
            beat_s = (self._run / f"{ALIVE}{Path(console).name}").stat().st_mtime
        except OSError:
            return False
        # By the wall clock, as file times are; set back, a beat of the future is none either.
        return abs(time.time() - beat_s) < _SILENT_S


def _holds_key(events: bytes) -> bool:
    whole = len(events) - len(events) % _EVENT.size
    return any(
        kind == _EV_KEY and value == _PRESSED and code in _ORDINARY_KEYS
        for _, _, kind, code, value in _EVENT.iter_unpack(events[:whole])
    )
