"""The time of the machine under test, where it counts instructions: drives take theirs by it.

A machine with `icount_shift` has a time of its own, which passes slowly while its processor works
and as the host's while it waits. A drive that took its time by the host's clock would be the
quicker, the slower the host is. This reads the machine's ACPI timer through a monitor of QEMU's,
one for each drive.
"""

import re
import time
from contextlib import suppress
from pathlib import Path

from tests.lab.qmp import Qmp, QmpError

_HZ = 3_579_545
_WRAP = 1 << 24
"""ACPI 6.5, 4.8.3.3: the power management timer, 24 bits of it in QEMU's q35."""
_READ = "i /w 0x608"
"""Where OVMF and SeaBIOS place it on q35: PMBASE 0x600, and 8."""
_CONNECT_S = 5
_CLOSE_S = 0.0005
_LONGEST_S = 1.0
"""Far less than the 4.7 s in which the timer wraps."""


class MachineClock:
    """Waits by the machine's time; by the host's where the machine cannot be asked."""

    def __init__(self, path: Path) -> None:
        """`path` is the monitor's socket; it is there only while such a machine runs."""
        self._path = path
        self._monitor: Qmp | None = None

    def forget(self) -> None:
        """The machine has ended, or another one begun."""
        if self._monitor is not None:
            self._monitor.close()
        self._monitor = None

    def wait(self, seconds: float) -> None:
        """Return when so many seconds have passed."""
        deadline = time.monotonic() + seconds
        try:
            before = self._read()
            if before is not None:
                self._wait_by_timer(seconds, before)
                return
        except QmpError:
            self.forget()
        time.sleep(max(0.0, deadline - time.monotonic()))

    def _wait_by_timer(self, seconds: float, before: int) -> None:
        left_s, stood_still_s = seconds, 0.0
        while left_s > _CLOSE_S:
            # The machine may go idle at any moment, and its time then passes as the host's.
            pause_s = min(max(left_s, _CLOSE_S), _LONGEST_S)
            time.sleep(pause_s)
            now = self._read()
            if now is None:
                return
            passed_s = (now - before) % _WRAP / _HZ
            before = now
            left_s -= passed_s
            # Firmware has not set the timer up, or somebody has stopped the machine.
            stood_still_s = 0.0 if passed_s else stood_still_s + pause_s
            if stood_still_s > seconds + _LONGEST_S:
                return

    def _read(self) -> int | None:
        """The timer; None where no machine with a time of its own is there."""
        if self._monitor is None:
            if not self._path.exists():
                return None
            self._monitor = Qmp(self._path, timeout_s=_CONNECT_S)
        answer = ""
        with suppress(ValueError):
            answer = str(self._monitor.execute("human-monitor-command", **{"command-line": _READ}))
        match = re.search(r"= *(0x[0-9a-fA-F]+)", answer)
        return int(match[1], 16) % _WRAP if match else None
