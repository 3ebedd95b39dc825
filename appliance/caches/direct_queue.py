# SPDX-License-Identifier: Apache-2.0
"""Several O_DIRECT reads in flight at once, submitted in the order of the requests.

With libaio (io_submit(2)) and one thread: two threads with a read each would hand them over in any
order, and a disk would seek. Only reads exist here.
"""

import ctypes
import errno
import mmap
import os
import time
from collections import deque
from dataclasses import dataclass
from typing import Self

from appliance.caches.direct import make_buffer
from appliance.caches.queue_times import QueueTimes
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase

_LIBRARY = "libaio.so.1t64"
_PREAD = 0  # IO_CMD_PREAD, libaio.h
_ONE = ctypes.c_long(1)


class _Order(ctypes.Structure):  # struct iocb on a little-endian machine of 64 bits
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint32),
        ("rw_flags", ctypes.c_int32),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("fd", ctypes.c_uint32),
        ("buffer", ctypes.c_uint64),
        ("length", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("reserved", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("event_fd", ctypes.c_uint32),
    )


class _Event(ctypes.Structure):  # struct io_event
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("order", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("result_2", ctypes.c_int64),
    )


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


@dataclass(frozen=True, slots=True)
class Answer:
    """One read that has ended."""

    first_byte: int
    asked_bytes: int
    got_bytes: int
    """From its first byte on; fewer than asked for where an error came in between."""
    errno: int
    """0 where it was read."""
    seconds: float
    """What the drive took for it alone; those of all reads add up to the time it was at work."""
    latency_s: float
    """How long it kept one waiting: see `queue_times.Times` for both."""


class DirectQueue:
    """A queue of `depth` reads of at most `request_bytes` each on an open descriptor.

    Leaving it waits for all that is under way: the drive writes into its buffers. Raises
    StepFailedError on entering where the kernel gives no queue.
    """

    def __init__(self, fd: int, *, depth: int, request_bytes: int) -> None:
        self._fd = fd
        self._depth = depth
        self._request_bytes = request_bytes
        self._context = ctypes.c_ulong(0)
        self._buffer: mmap.mmap | None = None
        self._orders = (_Order * depth)()
        self._pointers = [(ctypes.POINTER(_Order) * 1)(ctypes.pointer(o)) for o in self._orders]
        """For each place, the list of one order that io_submit takes."""
        self._events = (_Event * depth)()
        self._times = QueueTimes(depth)
        self._free = deque(range(depth))
        self._library = ctypes.CDLL(_LIBRARY)

    @property
    def is_full(self) -> bool:
        """Whether `ask` must wait for an answer."""
        return not self._free

    @property
    def under_way(self) -> int:
        """How many reads have no answer yet."""
        return self._depth - len(self._free)

    def __enter__(self) -> Self:
        self._buffer = make_buffer(self._depth * self._request_bytes)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))
        for place, order in enumerate(self._orders):
            order.data = place
            order.opcode = _PREAD
            order.fd = self._fd
            order.buffer = start + place * self._request_bytes
        # Each of libaio's functions returns its error as a negative number; errno is not set.
        result = self._library.io_setup(self._depth, ctypes.byref(self._context))
        if result < 0:
            raise StepFailedError(
                Phrase(N_("io_setup failed: {error}"), error=os.strerror(-result)), blame="other"
            )
        return self

    def __exit__(self, *_: object) -> None:
        # fs/aio.c, io_destroy: it waits for the requests that are under way.
        self._library.io_destroy(self._context)

    def ask(self, first_byte: int, size_bytes: int) -> None:
        """Hand one read over. Both numbers are multiples of the drive's logical block."""
        if self._buffer is None or size_bytes > self._request_bytes:
            raise ValueError(f"a read of {size_bytes} bytes is more than {self._request_bytes}")
        slot = self._free.popleft()
        order = self._orders[slot]
        order.length = size_bytes
        order.offset = first_byte
        self._times.ask(slot, time.perf_counter())
        result = self._library.io_submit(self._context, _ONE, self._pointers[slot])
        if result != 1:
            # The system refused it before the drive saw it: a drive that is gone.
            self._free.append(slot)
            raise OSError(-result, os.strerror(-result))

    def wait(self, timeout_s: float) -> list[Answer]:
        """The reads that have ended, in that order; none where none did in time."""
        limit = _Timespec(int(timeout_s), int(timeout_s % 1 * 1e9))
        count = self._library.io_getevents(
            self._context,
            _ONE,
            ctypes.c_long(self._depth),
            self._events,
            ctypes.byref(limit),
        )
        now_s = time.perf_counter()
        if count == -errno.EINTR:
            return []
        if count < 0:
            raise StepFailedError(
                Phrase(N_("io_getevents failed: {error}"), error=os.strerror(-count)), blame="other"
            )
        events = self._events[:count]
        times = self._times.answer([event.data for event in events], now_s)
        return [self._take(event, *timing) for event, timing in zip(events, times, strict=True)]

    def _take(self, event: _Event, seconds: float, latency_s: float) -> Answer:
        order = self._orders[event.data]
        self._free.append(event.data)
        return Answer(
            first_byte=order.offset,
            asked_bytes=order.length,
            got_bytes=max(event.result, 0),
            errno=max(-event.result, 0),
            seconds=seconds,
            latency_s=latency_s,
        )
