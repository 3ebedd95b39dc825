# SPDX-License-Identifier: Apache-2.0
"""Any key: on any console of a measured boot, and in parallel to the appliance's interface.

A terminal hands each key to one reader only. So the engine reads the keyboards' event devices
beside the interface, of which every reader gets all: a key that the interface hears too is no less
heard by it, and one that it does not (it hangs, it crashed, a shell has its terminal) is heard all
the same. A serial line has no such device. It is read only while its interface shows no sign of
life; of one that lives, the thread that reads notes each key at once, however busy its page is. A
key that a dying one still takes must be pressed again.

The power key is a keyboard of its own. systemd-logind ignores it, as well as the lid and the keys
for sleep and restart (logind.conf.d in mkosi.extra): the program that reads it here finishes what
it is writing and switches off.
"""

import os
import re
import select
import struct
import termios
import time
import tty
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

from appliance import sysfs
from appliance.change_watch import ChangeWatch
from appliance.machine.serial_lines import find_serial_lines, set_speed

_INPUT = Path("/dev/input")
_EVENT = struct.Struct("llHHi")
"""struct input_event in linux/input.h: time, type, code, value."""
_EV_KEY = 1
_PRESSED = 1
_POWER_KEYS = frozenset({116, 356})
"""KEY_POWER and KEY_POWER2 in linux/input-event-codes.h."""
_BUTTONS_OF_THE_CASE = range(113, 117)
"""Volume and power; Esc is 1, the last one of a keyboard 127."""
_ORDINARY_KEYS = frozenset(range(1, 128)) - frozenset(_BUTTONS_OF_THE_CASE)
_CAPABILITIES = Path("/sys/class/input")
_WORD_BITS = 64
ALIVE = "tui/alive-"
"""In /run/kaltstart, with a terminal's name: touched by its interface while it can hear keys."""
_NOTED = "tui/pressed-"
"""There, too: touched at each key, before the interface's page has taken it."""
_ANSWER = rb"(\x1b\[(?!1;)\d{1,4};\d{1,4}R)"
_ANSWERS = re.compile(_ANSWER + rb"+")
"""What a terminal says if asked where its cursor is, by an interface that has ended since.

Not with the first line: so begins F3 with Shift, Alt or Control."""
_BEGUN = re.compile(_ANSWER + rb"*\x1b(\[(\d{1,4}(;\d{0,4})?)?)?")
"""Answers of which the last one is not complete. It may also be Esc, or the beginning of a key."""
_REST_S = 0.2
"""For the rest of an answer that comes in pieces, which is far longer than a line takes for it."""
_AT_ONCE_BYTES = 64
_MOST_BYTES = 256
"""Of answers in a row; more than that counts as a key."""
_ATTENDED_S = 30
_SILENT_S = 4
"""Two beats are missing; countdowns last five seconds and more."""


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

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._open: dict[str, int] = {}
        self._modes: dict[int, list[Any]] = {}

    def __enter__(self) -> Self:
        for path in self._paths:
            self.add(path)
        for descriptor in self._open.values():
            with suppress(termios.error):
                termios.tcflush(descriptor, termios.TCIFLUSH)
        return self

    def __exit__(self, *_: object) -> None:
        for path in tuple(self._open):
            self.remove(path)

    def add(self, path: str) -> None:
        """Read it from now on, and what was typed there and is still unread."""
        if path in self._open:
            return
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:
            return
        self._open[path] = descriptor
        try:
            self._modes[descriptor] = termios.tcgetattr(descriptor)
            # Raw: Ctrl-C and Ctrl-S are keys like any other.
            tty.setraw(descriptor, termios.TCSANOW)
        except termios.error:  # a console that is no terminal: it can still be written to
            self._modes[descriptor] = []

    def remove(self, path: str) -> None:
        """Leave it to others, in the mode it was found in."""
        descriptor = self._open.pop(path, None)
        if descriptor is None:
            return
        with suppress(termios.error):  # it hung up
            if mode := self._modes.pop(descriptor):
                termios.tcsetattr(descriptor, termios.TCSANOW, mode)
        os.close(descriptor)

    def leave(self, path: str) -> None:
        """Leave it to an interface that reads it now, in the mode that it has set."""
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            del self._modes[descriptor]
            os.close(descriptor)

    def say(self, text: str) -> None:
        """Write a line; a console that does not take it is left out."""
        for descriptor in self._open.values():
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
            ready, _, _ = select.select(list(self._open.values()), [], [], max(0, left_s))
            for descriptor in ready:
                typed = self._read(descriptor)
                if typed and not _ANSWERS.fullmatch(typed):
                    return True
        return False

    def _read(self, descriptor: int) -> bytes:
        """What was typed, and the rest of an answer of which it is the beginning."""
        typed = b""
        until_s = time.monotonic() + _REST_S
        is_whole = False
        while not is_whole:
            try:
                piece = os.read(descriptor, _AT_ONCE_BYTES)
            except OSError:
                piece = b""
            if not piece:
                self._forget(descriptor)
                break
            typed += piece
            left_s = max(0, until_s - time.monotonic())
            may_go_on = len(typed) < _MOST_BYTES and _BEGUN.fullmatch(typed)
            is_whole = not may_go_on or not select.select([descriptor], [], [], left_s)[0]
        return typed

    def _forget(self, descriptor: int) -> None:
        """Leave out a console that hung up: it would be ready for ever."""
        self._open = {path: fd for path, fd in self._open.items() if fd != descriptor}
        del self._modes[descriptor]
        os.close(descriptor)


class Keyboards:
    """The event devices of all keyboards and buttons, those that are plugged in later too.

    Each look reads what came since the last one, so it can be asked at any time; nothing waits.
    """

    def __init__(self, folder: Path = _INPUT) -> None:
        self._folder = folder
        self._devices = ChangeWatch(folder)
        self._open: dict[Path, int] = {}
        self._ready = select.poll()
        self._has_key = False
        self._has_power = False

    def is_key_pressed(self) -> bool:
        """Whether an ordinary key was pressed since this was asked last."""
        self._look()
        pressed, self._has_key = self._has_key, False
        return pressed

    def is_power_pressed(self) -> bool:
        """Whether the power key was pressed since the first look."""
        self._look()
        return self._has_power

    def _look(self) -> None:
        # Four times a second beside a measurement: what has not changed is not read.
        if self._devices.may_have_changed():
            self._open_new()
        for keyboard, _ in self._ready.poll(0):
            try:
                while events := os.read(keyboard, 64 * _EVENT.size):
                    self._take(events)
            except BlockingIOError:
                continue
            except OSError:  # it was pulled out; another one may get its name
                self._ready.unregister(keyboard)
                self._open = {path: fd for path, fd in self._open.items() if fd != keyboard}
                os.close(keyboard)
                self._devices.forget()

    def _open_new(self) -> None:
        for path in self._folder.glob("event*"):
            if path not in self._open and _may_have_keys(path.name):
                try:
                    keyboard = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                except OSError:  # it is just coming or going
                    self._devices.forget()
                    continue
                self._open[path] = keyboard
                self._ready.register(keyboard, select.POLLIN)

    def _take(self, events: bytes) -> None:
        whole = len(events) - len(events) % _EVENT.size
        for _, _, kind, code, value in _EVENT.iter_unpack(events[:whole]):
            if kind == _EV_KEY and value == _PRESSED:
                self._has_key |= code in _ORDINARY_KEYS
                self._has_power |= code in _POWER_KEYS


class Listener:
    """Hears keys from a countdown of the appliance on, whatever has become of the interface."""

    def __init__(
        self,
        run: Path,
        keyboards: Keyboards,
        *,
        find_consoles: Callable[[], tuple[str, ...]],
        time_s: Callable[[], float],
    ) -> None:
        self._find_consoles = find_consoles
        self._time_s = time_s
        self._run = run
        self._keyboards = keyboards
        self._noted: dict[str, int] = {}
        self._consoles = Consoles([path for path in find_consoles() if not self._is_alive(path)])

    def __enter__(self) -> Self:
        self._keyboards.is_key_pressed()  # what came before is not meant
        self._is_noted()
        self._consoles.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for path in self._find_consoles():
            if self._is_alive(path):
                self._consoles.leave(path)
        self._consoles.__exit__()

    def say(self, text: str) -> None:
        """Write a line where no interface shows it."""
        self._consoles.say(text)

    def is_pressed(self) -> bool:
        """Whether a key was pressed since the last time."""
        pressed = self._keyboards.is_key_pressed() | self._is_noted()
        # An interface may fall silent in the countdown, or come back.
        for path in self._find_consoles():
            if self._is_alive(path):
                self._consoles.leave(path)
            else:
                self._consoles.add(path)
        return self._consoles.key_pressed(within_s=0) or pressed

    def _is_noted(self) -> bool:
        """Whether an interface has noted a key since this was asked last."""
        before = dict(self._noted)
        for console in self._find_consoles():
            with suppress(OSError):
                note = self._run / f"{_NOTED}{Path(console).name}"
                self._noted[console] = note.stat().st_mtime_ns
        return self._noted != before

    def _is_alive(self, console: str) -> bool:
        try:
            beat_s = (self._run / f"{ALIVE}{Path(console).name}").stat().st_mtime
        except OSError:
            return False
        # By the wall clock, as file times are; set back, a beat of the future is none either.
        return abs(self._time_s() - beat_s) < _SILENT_S


def is_attended(run: Path, *, now_s: float) -> bool:
    """Whether an interface has noted a key within the last half minute, by the wall clock.

    On whatever terminal it runs. None is opened: beside a measurement, each is somebody's.
    """
    folder, _, beginning = f"{run}/{_NOTED}".rpartition("/")
    try:
        with os.scandir(folder) as files:
            noted = [file.stat().st_mtime for file in files if file.name.startswith(beginning)]
    except OSError:
        return False
    return any(abs(now_s - noted_s) < _ATTENDED_S for noted_s in noted)


def _may_have_keys(name: str) -> bool:
    """Whether this event device has keys at all: a mouse has buttons alone."""
    # One bit for each code, in words of the kernel's, the lowest last (input_print_bitmap()).
    words = sysfs.read_text(_CAPABILITIES / name / "device/capabilities/key").split()
    if not words:
        return True  # nothing says that it has none
    bits = sum(int(word, 16) << _WORD_BITS * at for at, word in enumerate(reversed(words)))
    return any(bits >> code & 1 for code in _ORDINARY_KEYS | _POWER_KEYS)
