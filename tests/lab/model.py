# SPDX-License-Identifier: Apache-2.0
"""The nbdkit plugin that is a modelled drive: a raw file, answered at the pace `timing` computes.

Loaded by `nbdkit python`, one process per drive, which outlives the machine under test: what the
drive has learned survives power-offs exactly as in a real one. Flushes do not reach the host's
disk: the lab kills machines, not the host. Parameters: file=, model=hdd|sshd|ssd, nand=BYTES,
stats=FILE, clock=SOCKET (see machine_clock), fault=TEXT (repeated), seek_min=, seek_half=,
seek_max= (seconds), timing=JSON (what else decides about its time).

`stats` is one JSON object with the list `power_ons`: what reached the drive over each connection
QEMU made. One QEMU process makes one, so a warm reboot does not start a new element; a drive that
is unplugged and plugged in again does.
"""

import ctypes
import errno
import json
import os
import signal
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import nbdkit

from tests.lab.faults import Faults, UndoLog, parse_faults
from tests.lab.machine_clock import TICK_S, MachineClock
from tests.lab.timing import Access, Clockwork, SeekCurve, read_timing

API_VERSION = 2

_KEEP_SIZE, _PUNCH_HOLE = 1, 2  # linux/falloc.h
_STATS_EVERY_S = 2.0
_STALL_S = 1 << 30  # for ever
_LEAST_WAIT_S = 0.001
"""Shorter times add up before they are waited for: looking at the clock takes as long."""
_MOST_AHEAD_S = 0.005
_SETTINGS = (
    "file", "model", "nand", "stats", "clock", "seek_min", "seek_half", "seek_max", "timing",
)  # fmt: skip
_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


@dataclass(slots=True)
class Counts:
    """What reached the drive over one connection."""

    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0
    flushes: int = 0
    trims: int = 0
    trim_bytes: int = 0
    errors: int = 0
    nand_read_bytes: int = 0
    seeks: int = 0
    seek_s: float = 0.0
    promoted_bytes: int = 0
    """What a hybrid has learned."""
    slowed_bytes: int = 0
    """What an SSD moved behind its fast cells, or hot."""


@dataclass(slots=True)
class _Drive:
    """The one drive of this process."""

    settings: dict[str, str] = field(default_factory=dict)
    fault_texts: list[str] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    fd: int = -1
    size_bytes: int = 0
    clockwork: Clockwork = field(default_factory=lambda: Clockwork(size_bytes=1))
    power_ons: list[Counts] = field(default_factory=list)
    undo: UndoLog = field(default_factory=lambda: UndoLog(0))
    clock: MachineClock = field(default_factory=lambda: MachineClock(Path()))
    first_open: float | None = None
    last_open: float = 0.0
    has_stalled: bool = False
    """By what was moved, which it does once."""
    cut_at: set[int] = field(default_factory=set)
    """The power-ons in which it has waited for the power to be cut."""
    stats_at: float = 0.0
    owed_s: float = 0.0
    """What requests have cost and was not waited for; negative where it was waited too long."""

    def prepare(self) -> None:
        """Open the file and build the model from the parameters."""
        self.faults = parse_faults(self.fault_texts)
        self.undo = UndoLog(self.faults.forgotten_bytes)
        self.fd = os.open(self.settings["file"], os.O_RDWR)
        self.clock = MachineClock(Path(self.settings["clock"]))
        self.size_bytes = os.fstat(self.fd).st_size
        model = self.settings["model"]
        curve = SeekCurve(
            min_s=float(self.settings["seek_min"]),
            half_s=float(self.settings["seek_half"]),
            max_s=float(self.settings["seek_max"]),
        )
        timing = read_timing(self.settings["timing"])
        self.clockwork = Clockwork(
            size_bytes=self.size_bytes,
            curve=None if model == "ssd" else curve,
            flash_bytes=int(self.settings["nand"]) if model == "sshd" else None,
            timing=timing,
        )
        if timing.takes_time:
            threading.Thread(target=self.watch_clock, daemon=True).start()

    def watch_clock(self) -> None:
        """Look at the machine's time for as long as the process lives."""
        while True:
            time.sleep(TICK_S)
            self.clock.tick()

    def counts(self) -> Counts:
        """The account of the machine that is connected now, which is the last one."""
        if time.monotonic() - self.stats_at > _STATS_EVERY_S:
            self.write_stats()
        return self.power_ons[-1]

    def pass_time(self, access: Access, offset: int, length: int) -> None:
        """Take as long as the drive would."""
        counts = self.power_ons[-1]
        if access.seconds > 0:
            counts.seeks += 1
            counts.seek_s += access.seconds
        counts.slowed_bytes += access.slowed_bytes
        counts.promoted_bytes = self.clockwork.promoted_bytes
        self.owed_s += self.faults.slowed(access.seconds, offset, length)
        if self.owed_s >= _LEAST_WAIT_S:
            self.owed_s -= self.clock.wait(self.owed_s)
            self.owed_s = max(self.owed_s, -_MOST_AHEAD_S)

    def answer_or_not(self) -> None:
        """Fail each request once the drive has vanished; keep silent once it has stalled."""
        now = time.monotonic()
        age_s = 0.0 if self.first_open is None else now - self.first_open
        read_bytes = sum(counts.read_bytes for counts in self.power_ons)
        # It may be there only until a later power-on, at which the lab does not plug it in.
        if self.faults.vanished(age_s=age_s, read_bytes=read_bytes, power_on=0):
            self.fail(f"vanished after {age_s:.0f} s and {read_bytes} bytes")
        if self.faults.stalled(age_s=now - self.last_open, power_on=len(self.power_ons)):
            # Ends with an error when QEMU has hung up or nbdkit shall end: then nothing listens.
            nbdkit.nanosleep(_STALL_S, 0)
        moved_bytes = read_bytes + sum(counts.write_bytes for counts in self.power_ons)
        if not self.has_stalled and self.faults.stalls_after(moved_bytes):
            self.has_stalled = True
            self.stop()
        number, last = len(self.power_ons), self.power_ons[-1]
        moved_bytes = last.read_bytes + last.write_bytes
        if number not in self.cut_at and self.faults.waits_for_cut(
            power_on=number, moved_bytes=moved_bytes
        ):
            self.cut_at.add(number)
            self.stop()

    def stop(self) -> None:
        """Answer nothing until the bay has it go on."""
        self.write_stats()
        # Stopped from there it would have served some more, or all; and by a signal to the process
        # as well, which another thread takes, once it has the processor.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    def read(self, buf: bytearray | memoryview, offset: int) -> None:
        """Fill `buf` with what the drive shows at `offset`."""
        view = memoryview(buf)
        for start, length in self.faults.pieces(offset, len(view)):
            done = 0
            while done < length:
                got = os.preadv(self.fd, [view[done:length]], start + done)
                if got == 0:
                    self.fail("beyond the end")
                done += got
            view = view[length:]

    def write(self, buf: bytes | bytearray, offset: int) -> None:
        """Let the drive show `buf` at `offset`."""
        view = memoryview(buf)
        for start, length in self.faults.pieces(offset, len(view)):
            self.remember(start, length)
            done = 0
            while done < length:
                done += os.pwritev(self.fd, [view[done:length]], start + done)
            view = view[length:]

    def clear(self, offset: int, length: int) -> None:
        """Let the drive show zeroes there, by a hole."""
        for start, size in self.faults.pieces(offset, length):
            self.remember(start, size)
            if _libc.fallocate(self.fd, _KEEP_SIZE | _PUNCH_HOLE, start, size) != 0:
                nbdkit.set_error(ctypes.get_errno())
                raise OSError(ctypes.get_errno(), "fallocate")

    def remember(self, offset: int, length: int) -> None:
        """Keep what is about to be replaced, as far as it may be needed again."""
        kept = min(length, self.undo.limit_bytes)
        if kept:
            start = offset + length - kept
            self.undo.remember(start, os.pread(self.fd, kept, start))

    def forget(self) -> None:
        """The power has gone: what only seemed to be on the drive is not."""
        for offset, before in self.undo.take_back():
            os.pwrite(self.fd, before, offset)

    def fail(self, reason: str) -> None:
        """End the request with EIO."""
        self.power_ons[-1].errors += 1
        nbdkit.set_error(errno.EIO)
        raise OSError(errno.EIO, reason)

    def write_stats(self) -> None:
        """Put the accounts where the lab reads them, never half written."""
        self.stats_at = time.monotonic()
        path = Path(self.settings["stats"])
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps({"power_ons": [asdict(c) for c in self.power_ons]}) + "\n")
        temporary.replace(path)


_drive = _Drive()


def thread_model() -> int:
    """One request at a time: one head, one cable."""
    return int(nbdkit.THREAD_MODEL_SERIALIZE_ALL_REQUESTS)


def config(key: str, value: str) -> None:
    """Take one parameter from the command line."""
    if key == "fault":
        _drive.fault_texts.append(value)
    elif key in _SETTINGS:
        _drive.settings[key] = value
    else:
        raise ValueError(f"unknown parameter {key!r}; known: fault, {', '.join(_SETTINGS)}")


def get_ready() -> None:
    """All parameters are known."""
    _drive.prepare()


def cleanup() -> None:
    """The process ends."""
    _drive.write_stats()


def open(readonly: bool) -> int:  # noqa: A001, FBT001 - nbdkit's name and form
    """QEMU connects: a power-on."""
    _drive.forget()  # where the end of the machine before was not seen yet
    _drive.clock.power_on()
    _drive.clockwork.power_on()
    _drive.last_open = time.monotonic()
    if _drive.first_open is None:
        _drive.first_open = _drive.last_open
    _drive.power_ons.append(Counts())
    _drive.write_stats()
    return len(_drive.power_ons)


def close(handle: int) -> None:
    """QEMU is gone: a power-off."""
    if handle == len(_drive.power_ons):
        _drive.forget()
        _drive.clock.power_off()
    _drive.write_stats()


def get_size(handle: int) -> int:
    """Bytes of the drive."""
    return _drive.size_bytes


def can_fua(handle: int) -> int:
    """Every write is as safe as this lab makes one."""
    return int(nbdkit.FUA_NATIVE)


def pread(handle: int, buf: bytearray, offset: int, flags: int) -> None:
    """Read, at the drive's pace."""
    counts = _drive.counts()
    counts.reads += 1
    counts.read_bytes += len(buf)
    _drive.answer_or_not()
    access = _drive.clockwork.read(offset, len(buf), now_s=_drive.clock.now_s())
    if access.from_flash:
        counts.nand_read_bytes += len(buf)
    _drive.pass_time(access, offset, len(buf))
    if _drive.faults.read_fails(offset, len(buf)):
        _drive.fail(f"bad sector in {len(buf)} bytes at {offset}")
    _drive.read(buf, offset)


def pwrite(handle: int, buf: bytearray, offset: int, flags: int) -> None:
    """Write, at the drive's pace."""
    counts = _drive.counts()
    counts.writes += 1
    counts.write_bytes += len(buf)
    _drive.answer_or_not()
    access = _drive.clockwork.write(offset, len(buf), now_s=_drive.clock.now_s())
    _drive.pass_time(access, offset, len(buf))
    _drive.write(buf, offset)


def flush(handle: int, flags: int) -> None:
    """Only counted: what was written is in the host's memory and survives the machine."""
    _drive.counts().flushes += 1
    _drive.answer_or_not()


def trim(handle: int, count: int, offset: int, flags: int) -> None:
    """Punch a hole."""
    counts = _drive.counts()
    counts.trims += 1
    counts.trim_bytes += count
    _clear(count, offset)


def zero(handle: int, count: int, offset: int, flags: int) -> None:
    """Zeroes written without sending them; counted as a write."""
    counts = _drive.counts()
    counts.writes += 1
    counts.write_bytes += count
    _clear(count, offset)


def _clear(count: int, offset: int) -> None:
    _drive.answer_or_not()
    access = _drive.clockwork.discard(offset, count, now_s=_drive.clock.now_s())
    _drive.pass_time(access, offset, count)
    _drive.clear(offset, count)
