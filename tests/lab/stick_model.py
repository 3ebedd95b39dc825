# SPDX-License-Identifier: Apache-2.0
"""The nbdkit plugin that is the stick: its file, without what a power cut takes from it.

Loaded by `nbdkit python`; the process outlives the machine under test. The end of a connection is
the end of the power: QEMU makes one per power-on, and a warm reboot keeps it. Parameters: file=,
stats=FILE, seed=NUMBER, fault=TEXT (repeated; see `stick_faults`).

`stats` is one JSON object: `flushes`, `writes`, `errors`, and `cuts`, with the number of writes
that were not flushed at the end of each power-on.
"""

import errno
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import nbdkit

from tests.lab.stick_faults import Room, StickFaults, parse_stick_faults
from tests.lab.volatile_cache import VolatileCache, Write

API_VERSION = 2


@dataclass(slots=True)
class _Stick:
    """The one stick of this process."""

    settings: dict[str, str] = field(default_factory=dict)
    fault_texts: list[str] = field(default_factory=list)
    faults: StickFaults = field(default_factory=StickFaults)
    cache: VolatileCache = field(default_factory=lambda: VolatileCache("none", seed=0))
    room: Room = field(default_factory=lambda: Room(None))
    fd: int = -1
    first_open: float | None = None
    power_ons: int = 0
    flushes: int = 0
    writes: int = 0
    errors: int = 0
    cuts: list[int] = field(default_factory=list)

    def prepare(self) -> None:
        """Open the file and set up the faults from the parameters."""
        seed = int(self.settings["seed"])
        self.faults = parse_stick_faults(self.fault_texts, seed=seed)
        # What forgets all forgets what was flushed, too.
        loses = "all" if self.faults.forgets_all else self.faults.loses
        self.cache = VolatileCache(loses, seed=seed)
        self.room = Room(self.faults.full_after_bytes)
        self.fd = os.open(self.settings["file"], os.O_RDWR)

    def power_on(self) -> int:
        """QEMU connects."""
        self.power_off()  # where the end of the machine before was not seen yet
        if self.first_open is None:
            self.first_open = time.monotonic()
        self.power_ons += 1
        return self.power_ons

    def power_off(self) -> None:
        """The power has gone: the medium is what is left of it."""
        if len(self.cuts) == self.power_ons:
            return
        self.cuts.append(self.cache.unflushed)
        for offset, content in self.cache.cut(len(self.cuts)):
            os.pwrite(self.fd, content, offset)
        self.write_stats()

    def write(self, buf: bytes | bytearray, offset: int) -> None:
        """Let the stick show `buf` at `offset`, or fail."""
        age_s = time.monotonic() - (self.first_open or time.monotonic())
        limit_s = self.faults.read_only_after_s
        if limit_s is not None and age_s >= limit_s:
            self.fail(f"read-only since {limit_s:.0f} s after its first power-on")
        if not self.room.take(offset, len(buf)):
            self.fail("full")
        self.writes += 1
        if self.cache.remembers:
            before = os.pread(self.fd, len(buf), offset)
            self.cache.remember(Write(offset, before, bytes(buf)))
        done = 0
        while done < len(buf):
            done += os.pwrite(self.fd, memoryview(buf)[done:], offset + done)

    def flush(self) -> None:
        """What was written is safe, unless the stick lies."""
        self.flushes += 1
        if not self.faults.forgets_all:
            self.cache.flush()

    def fail(self, reason: str) -> None:
        """End the request with EIO: at ENOSPC QEMU would stop the machine."""
        self.errors += 1
        nbdkit.set_error(errno.EIO)
        raise OSError(errno.EIO, reason)

    def write_stats(self) -> None:
        """Put the account where the lab reads it, never half written."""
        path = Path(self.settings["stats"])
        account = {
            "flushes": self.flushes,
            "writes": self.writes,
            "errors": self.errors,
            "cuts": self.cuts,
        }
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(account) + "\n")
        temporary.replace(path)


_stick = _Stick()


def thread_model() -> int:
    """One request at a time: their order is what a flush divides."""
    return int(nbdkit.THREAD_MODEL_SERIALIZE_ALL_REQUESTS)


def config(key: str, value: str) -> None:
    """Take one parameter from the command line."""
    if key == "fault":
        _stick.fault_texts.append(value)
    elif key in {"file", "stats", "seed"}:
        _stick.settings[key] = value
    else:
        raise ValueError(f"unknown parameter {key!r}; known: file, stats, seed, fault")


def get_ready() -> None:
    """All parameters are known."""
    _stick.prepare()


def cleanup() -> None:
    """The process ends."""
    _stick.power_off()
    _stick.write_stats()


def open(readonly: bool) -> int:  # noqa: A001, FBT001 - nbdkit's name and form
    """QEMU connects: a power-on."""
    return _stick.power_on()


def close(handle: int) -> None:
    """QEMU is gone: a power-off."""
    if handle == _stick.power_ons:
        _stick.power_off()


def get_size(handle: int) -> int:
    """Bytes of the stick."""
    return os.fstat(_stick.fd).st_size


def can_fua(handle: int) -> int:
    """A write that must be safe at once is a write and a flush."""
    return int(nbdkit.FUA_EMULATE)


def pread(handle: int, buf: bytearray, offset: int, flags: int) -> None:
    """Read."""
    view = memoryview(buf)
    done = 0
    while done < len(view):
        got = os.preadv(_stick.fd, [view[done:]], offset + done)
        if got == 0:
            _stick.fail("beyond the end")
        done += got


def pwrite(handle: int, buf: bytearray, offset: int, flags: int) -> None:
    """Write."""
    _stick.write(buf, offset)


def flush(handle: int, flags: int) -> None:
    """All that was written before is safe."""
    _stick.flush()


def zero(handle: int, count: int, offset: int, flags: int) -> None:
    """Zeroes are a write like any other."""
    _stick.write(bytes(count), offset)
