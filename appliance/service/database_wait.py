# SPDX-License-Identifier: Apache-2.0
"""What a person sees, and the power key does, while another program keeps the database locked.

A shell's sqlite3 that was stopped in a transaction keeps its lock for ever. The engine waits for it
in slices (`store.connect`), and asks here between them. The interface reads the database all the
time: while it does, nothing is blamed for the wait. Must never use the database.
"""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from appliance import sysfs
from appliance.campaign.host import Host
from appliance.campaign.status import Status, write_status
from appliance.phrases import N_, Phrase
from appliance.stick.partitions import DATABASE
from appliance.store.connect import LONG_WAIT_S
from appliance.units import printable

_SHOW_EVERY_S = 2.0
_PROC = Path("/proc")


class DatabaseWait:
    """Of one engine, for all the databases that it opens."""

    def __init__(self, status: Status, host: Host) -> None:
        self.keyboards = host.open_keyboards()
        self.ends_in_power_off = False
        """Whether the power key has ended a wait."""
        self._status = status
        self._host = host
        self._shown_s = 0.0

    def is_over(self, waited_s: float) -> bool:
        """Whether the power key ends it; shows after a while that it goes on."""
        # Each time, because keyboards are only opened when asked.
        is_power_pressed = self.keyboards.is_power_pressed()
        if waited_s < LONG_WAIT_S:
            self._shown_s = 0.0
            return False
        if waited_s - self._shown_s >= _SHOW_EVERY_S:
            self._shown_s = waited_s
            self._show()
        self.ends_in_power_off |= is_power_pressed
        return is_power_pressed

    def _show(self) -> None:
        names = find_holders(DATABASE)
        message = (
            Phrase(N_("Waiting for the database: {program} has it locked"), program=names[0])
            if names
            else N_("Waiting for the database")
        )
        # The state itself stays: whatever is shown next is shown again.
        with suppress(OSError):  # /run may be full
            write_status(replace(self._status, message=message), self._host.run)


def find_holders(path: Path, *, proc: Path = _PROC) -> tuple[str, ...]:
    """The names of root's programs that have a lock on a file, this one excepted.

    The interface has a user of its own. What has ended meanwhile is left out.
    """
    try:
        file = path.stat()
        lines = (proc / "locks").read_text().splitlines()
    except OSError:
        return ()
    place = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    names = []
    for process in sorted(parse_holders(lines, place) - {os.getpid()}):
        status = sysfs.read_text(proc / str(process) / "status").splitlines()
        values = dict(line.split(":\t", 1) for line in status if ":\t" in line)
        if values.get("Uid", "").startswith("0\t"):
            names.append(printable(values["Name"]))
    return tuple(names)


def parse_holders(lines: list[str], place: str) -> frozenset[int]:
    """The processes with a lock on the file at `place`, device and inode: proc_locks(5). Pure."""
    processes = set()
    for line in lines:
        # Of one that waits for a lock the second word is an arrow.
        match line.split():
            case [_, "POSIX", _, _, process, where, _, _] if where == place:
                processes.add(int(process))
    return frozenset(processes)
