# SPDX-License-Identifier: Apache-2.0
"""The time of the machine under test, where it counts instructions: drives take theirs by it.

A machine with `icount_shift` has a time of its own, which passes slowly while its processor works
and as the host's while it waits. A drive that took its time by the host's clock would be the
quicker, the slower the host is. This reads the machine's ACPI timer through a monitor of QEMU's,
one for each drive.

A drive that does something on its own, once it has rested for seconds, must ask `now_s`: seconds
in which it had power. The timer wraps, so the clock must be `tick`ed meanwhile.
"""

import re
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock

from tests.lab.qmp import Qmp, QmpError

_HZ = 3_579_545
_WRAP = 1 << 24
"""ACPI 6.5, 4.8.3.3: the power management timer, 24 bits of it in QEMU's q35."""
_READ = "i /w 0x608"
"""Where OVMF and SeaBIOS place it on q35: PMBASE 0x600, and 8."""
_NOTHING = 0xFFFFFFFF
"""What is read where no port is: firmware has not placed the timer yet."""
_CONNECT_S = 5
_CLOSE_S = 0.0005
_LOOK_S = 0.001
"""A reading takes no longer; what is beyond is a busy host's."""
_LONGEST_S = 1.0
"""Far less than the 4.7 s in which the timer wraps."""


TICK_S = 0.5
"""How often to `tick`, and so how old `now_s` may be."""


class MachineClock:
    """Waits by the machine's time; by the host's where the machine cannot be asked."""

    def __init__(self, path: Path) -> None:
        """`path` is the monitor's socket; it is there only while such a machine runs."""
        self._path = path
        self._monitor: Qmp | None = None
        self._lock = Lock()
        self._is_on = False
        self._timer: int | None = None
        """What it read last."""
        self._now_s = 0.0
        self._host_s = time.monotonic()

    def power_on(self) -> None:
        """A machine is there, perhaps another one than before."""
        with self._lock:
            self._forget()
            self._is_on = True
            self._host_s = time.monotonic()

    def power_off(self) -> None:
        """The machine has ended: no time passes."""
        with self._lock:
            self._forget()
            self._is_on = False

    def now_s(self) -> float:
        """Seconds that machines have been there, as of the last tick."""
        return self._now_s

    def tick(self) -> None:
        """Look at the machine's time."""
        with suppress(QmpError):
            self._read()

    def wait(self, seconds: float) -> float:
        """Return when so many seconds have passed; how many it really were.

        A machine that waits for its drive passes time as the host does: so does the first look.
        """
        begun = time.monotonic()
        deadline = begun + seconds
        try:
            if self._read():
                looked_s = min(time.monotonic() - begun, _LOOK_S)
                before_s = self._now_s
                self._wait_by_timer(seconds - looked_s)
                return self._now_s - before_s + looked_s
        except QmpError:
            pass
        time.sleep(max(0.0, deadline - time.monotonic()))
        return seconds + time.monotonic() - deadline

    def _wait_by_timer(self, seconds: float) -> None:
        end_s, stood_still_s = self._now_s + seconds, 0.0
        while (left_s := end_s - self._now_s) > _CLOSE_S:
            # The machine may go idle at any moment, and its time then passes as the host's.
            pause_s = min(max(left_s, _CLOSE_S), _LONGEST_S)
            time.sleep(pause_s)
            before_s = self._now_s
            if not self._read():
                return
            # Firmware has not set the timer up, or the machine was stopped.
            stood_still_s = 0.0 if self._now_s > before_s else stood_still_s + pause_s
            if stood_still_s > seconds + _LONGEST_S:
                return

    def _read(self) -> bool:
        """Let the time pass that has passed; whether it is that of a machine with its own."""
        with self._lock:
            try:
                timer = self._read_timer()
            except QmpError:
                self._forget()
                raise
            host_s = time.monotonic()
            if self._is_on and self._monitor is None:
                self._now_s += host_s - self._host_s
            elif timer is not None and self._timer is not None:
                self._now_s += (timer - self._timer) % _WRAP / _HZ
            self._host_s, self._timer = host_s, timer
            return timer is not None

    def _read_timer(self) -> int | None:
        """The timer; None where no machine with a time of its own is there, or not that far."""
        if self._monitor is None:
            if not self._path.exists():
                return None
            self._monitor = Qmp(self._path, timeout_s=_CONNECT_S)
        answer = ""
        with suppress(ValueError):
            answer = str(self._monitor.execute("human-monitor-command", **{"command-line": _READ}))
        match = re.search(r"= *(0x[0-9a-fA-F]+)", answer)
        if match is None or int(match[1], 16) == _NOTHING:
            return None
        return int(match[1], 16) % _WRAP

    def _forget(self) -> None:
        if self._monitor is not None:
            self._monitor.close()
        self._monitor = self._timer = None
