# SPDX-License-Identifier: Apache-2.0
"""Writing and reading the pattern past the page cache, several requests in flight.

Threads hand the requests over in turn; no other thread touches what one of them works on. An error
of the drive is a finding, not the end, until there are too many of them.
"""

import errno
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from appliance.caches.direct import make_buffer
from appliance.errors import StepFailedError, blame_of
from appliance.phrases import N_, Phrase
from appliance.samples.model import LbaRange
from appliance.units import format_size
from appliance.workloads.verify.layout import BLOCK_BYTES
from appliance.workloads.verify.pattern import (
    CHUNK_BYTES,
    FIRST,
    SECTOR_BYTES,
    Extent,
    Pattern,
    as_last,
    confirm_ranges,
    join_ranges,
    stamp,
)

DEPTH = 4
"""Requests under way at once."""
HOPELESS_BYTES = 4 << 20
"""More bytes than this that cannot be read or written in one stretch: the drive is hopeless."""
CHECK_EVERY_S = 20.0
"""So long is written at most before the drive is asked again who it is, where that is needed."""
CONFIRMED_BYTES = 16 << 20
"""Once so much of a stretch was as wrong the second time, no more of it is read twice: a fake drive
is wrong all over."""
MAX_RANGES = 1000
"""So many ranges are kept one by one; of all others only their bytes."""
_NOT_NARROWED = "not narrowed down: some of it may be readable"
_POLL_S = 0.2
# The drive is gone, or is not to be written to: what comes is no finding.
_GONE = frozenset({errno.ENODEV, errno.ENXIO, errno.EROFS, errno.EPERM, errno.EBADF})


@dataclass(slots=True)
class StretchResult:
    """What a stretch gave, from all threads."""

    done_bytes: int = 0
    """Read or written without an error."""
    failed_bytes: int = 0
    """The drive gave an error."""
    wrong_bytes: int = 0
    """Read, but not as they were written; the same when they were read again."""
    unsteady_bytes: int = 0
    """Not as they were written, and not the same when they were read again."""
    seconds: float = 0.0
    hopeless: str = ""
    """Why the rest was left out; empty where it was not."""
    ranges: list[LbaRange] = field(default_factory=list)
    left_out: int = 0
    """Ranges that are only counted."""
    given_up: bool = False
    """Nothing more is to be looked at, neither what was begun."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, *, done_bytes: int = 0, ranges: Iterable[LbaRange] = ()) -> None:
        """One request more."""
        with self._lock:
            self.done_bytes += done_bytes
            for lba_range in ranges:
                if lba_range.kind == "unreadable":
                    self.failed_bytes += lba_range.size_bytes
                elif lba_range.kind == "unsteady":
                    self.unsteady_bytes += lba_range.size_bytes
                else:
                    self.wrong_bytes += lba_range.size_bytes
                self.ranges.append(lba_range)
            if len(self.ranges) > 2 * MAX_RANGES:
                self._shorten()
            if self.failed_bytes > HOPELESS_BYTES and not self.hopeless:
                last = self.ranges[-1]
                self.hopeless = Phrase(
                    N_("more than {size} gave errors, the last one at byte {first_byte}"),
                    size=format_size(HOPELESS_BYTES),
                    first_byte=last.first_byte,
                )

    def finish(self) -> None:
        """All threads are done."""
        with self._lock:
            self._shorten()

    def _shorten(self) -> None:
        joined = join_ranges(self.ranges)
        self.left_out += max(0, len(joined) - MAX_RANGES)
        self.ranges = joined[:MAX_RANGES]


@contextmanager
def opened_direct(device: str, flags: int) -> Iterator[int]:
    """`device` past the page cache. Raises StepFailedError."""
    try:
        fd = os.open(device, flags | os.O_DIRECT | os.O_CLOEXEC)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("{device} cannot be opened: {error}"), device=device, error=error.strerror),
            blame=blame_of(error),
        ) from error
    try:
        yield fd
    finally:
        os.close(fd)


def write_stretch(
    fd: int,
    pattern: Pattern,
    requests: Iterable[Extent],
    found: StretchResult,
    *,
    tell: Callable[[int], None],
    check_identity: Callable[[], None] | None = None,
) -> None:
    """Write and flush; `tell` is given the bytes done. `found` is new, and filled on the way.

    `check_identity` is called every `CHECK_EVERY_S` with no request under way; its time does not
    count. Raises StepFailedError when the drive is gone, hopeless, or does not flush, and what
    `check_identity` raises.
    """
    start_s, checked_s = time.monotonic(), 0.0
    remaining = iter(requests)
    for first in remaining:
        some = remaining if check_identity is None else _take_for(remaining, CHECK_EVERY_S)
        worker = partial(_make_writer, fd, pattern, found)
        _work(chain((first,), some), worker, found, tell)
        if found.hopeless:
            break
        if check_identity is not None:
            begun_s = time.monotonic()
            check_identity()
            checked_s += time.monotonic() - begun_s
    if found.hopeless:
        raise StepFailedError(
            Phrase(
                N_("the drive does not accept what is written to it: {what}"), what=found.hopeless
            )
        )
    os.fsync(fd)
    found.seconds = time.monotonic() - start_s - checked_s
    found.finish()


def _take_for(requests: Iterator[Extent], seconds: float) -> Iterator[Extent]:
    """Those that are begun within so many seconds; the others are left."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        try:
            yield next(requests)
        except StopIteration:
            return


def _make_writer(fd: int, pattern: Pattern, found: StretchResult) -> Callable[[Extent], None]:
    return partial(_write, fd, _make_buffer(pattern), found)


def read_stretch(
    fd: int,
    pattern: Pattern,
    requests: Iterable[Extent],
    found: StretchResult,
    *,
    last: tuple[Extent, ...],
    is_cold: bool,
    tell: Callable[[int], None],
) -> None:
    """Read back and compare; the blocks in `last` are to be of the last generation.

    `found` is new, and filled on the way. Raises StepFailedError when the drive is gone.
    """
    by_chunk: dict[int, tuple[Extent, ...]] = {}
    for block in last:
        number = block.first_byte // CHUNK_BYTES
        by_chunk[number] = (*by_chunk.get(number, ()), block)

    def make_worker() -> Callable[[Extent], None]:
        reader = _Reader(fd, pattern, by_chunk, found, is_cold=is_cold)
        return reader.read

    start_s = time.monotonic()
    _work(requests, make_worker, found, tell)
    found.seconds = time.monotonic() - start_s
    found.finish()


def write_last(fd: int, pattern: Pattern, blocks: tuple[Extent, ...]) -> None:
    """Write `blocks` as the last generation, and flush. Raises OSError: power is about to go."""
    buffer = _make_buffer(pattern)
    with memoryview(buffer) as view:
        for block in blocks:
            stamp(buffer, block.first_byte, block.size_bytes)
            start = block.first_byte % CHUNK_BYTES
            with as_last(buffer, (block,)), view[start : start + block.size_bytes] as piece:
                os.pwritev(fd, [piece], block.first_byte)
    os.fsync(fd)


def carries_run(fd: int, pattern: Pattern, requests: Iterable[Extent]) -> bool:
    """Whether the beginning of one of them, at least, shows something of this run."""
    buffer = make_buffer(CHUNK_BYTES)
    for request in requests:
        look = Extent(request.first_byte, min(request.size_bytes, BLOCK_BYTES))
        start = look.first_byte % CHUNK_BYTES
        try:
            _transfer(os.preadv, fd, buffer, look)
        except OSError:
            continue
        if pattern.is_ours(buffer[start : start + SECTOR_BYTES]):
            return True
    return False


def is_last_write_missing(fd: int, pattern: Pattern, blocks: Iterable[Extent]) -> bool:
    """Whether `blocks` hold what this run wrote there, and not all of it the last generation.

    False as well where a block has lost even that: no write that was not made does this.
    """
    buffer = make_buffer(CHUNK_BYTES)
    generations = set()
    for block in blocks:
        try:
            _transfer(os.preadv, fd, buffer, block)
        except OSError:
            continue  # the reading finds and reports it
        start = block.first_byte % CHUNK_BYTES
        for at in range(0, block.size_bytes, SECTOR_BYTES):
            sector = bytes(buffer[start + at : start + at + SECTOR_BYTES])
            generations.add(pattern.find_generation(sector, block.first_byte + at))
    return FIRST in generations and None not in generations


def _make_buffer(pattern: Pattern) -> mmap.mmap:
    buffer = make_buffer(CHUNK_BYTES)
    buffer[:] = bytes(pattern.make_chunk())
    return buffer


def _write(fd: int, buffer: mmap.mmap, found: StretchResult, request: Extent) -> None:
    stamp(buffer, request.first_byte, request.size_bytes)
    try:
        _transfer(os.pwritev, fd, buffer, request)
    except OSError as error:
        _check_is_finding(error, request)
        bad = LbaRange(
            "unreadable",
            request.first_byte,
            request.size_bytes,
            detail=Phrase(N_("could not be written: {error}"), error=error.strerror),
        )
        found.add(ranges=(bad,))
    else:
        found.add(done_bytes=request.size_bytes)


class _Reader:
    """One thread's."""

    def __init__(
        self,
        fd: int,
        pattern: Pattern,
        last: dict[int, tuple[Extent, ...]],
        found: StretchResult,
        *,
        is_cold: bool,
    ) -> None:
        """`last` is by the number of the chunk."""
        self._fd = fd
        self._pattern = pattern
        self._last = last
        self._found = found
        self._is_cold = is_cold
        self._buffer = make_buffer(CHUNK_BYTES)
        self._second = make_buffer(CHUNK_BYTES)
        """Other memory: one that turns bits would do so the same way twice."""
        self._expected = pattern.make_chunk()

    def read(self, request: Extent) -> None:
        """Read it, in halves where an error comes, and compare."""
        if self._found.hopeless:
            return
        try:
            _transfer(os.preadv, self._fd, self._buffer, request)
        except OSError as error:
            _check_is_finding(error, request)
            self._read_around(request, error)
            return
        stamp(self._expected, request.first_byte, request.size_bytes)
        blocks = self._last.get(request.first_byte // CHUNK_BYTES, ())
        start = request.first_byte % CHUNK_BYTES
        with (
            as_last(self._expected, blocks),
            memoryview(self._buffer) as view,
            view[start : start + request.size_bytes] as got,
        ):
            ranges: Sequence[LbaRange] = self._pattern.diagnose(
                self._expected, got, request.first_byte, is_cold=self._is_cold
            )
            if ranges and self._found.wrong_bytes < CONFIRMED_BYTES:
                ranges = self._confirm(request, tuple(ranges), got)
        self._found.add(done_bytes=request.size_bytes, ranges=ranges)

    def _confirm(
        self, request: Extent, ranges: tuple[LbaRange, ...], got: memoryview
    ) -> Sequence[LbaRange]:
        """What is as wrong in a second reading is the drive's; where that fails, all of it is."""
        try:
            _transfer(os.preadv, self._fd, self._second, request)
        except OSError as error:
            _check_is_finding(error, request)
            return ranges
        start = request.first_byte % CHUNK_BYTES
        with (
            memoryview(self._second) as view,
            view[start : start + request.size_bytes] as second,
        ):
            return confirm_ranges(ranges, got, second, request.first_byte)

    def _read_around(self, request: Extent, error: OSError) -> None:
        if request.size_bytes <= BLOCK_BYTES:
            detail = error.strerror or str(error)
            bad = LbaRange("unreadable", request.first_byte, request.size_bytes, detail=detail)
            self._found.add(ranges=(bad,))
            return
        half = max(BLOCK_BYTES, request.size_bytes // 2 // BLOCK_BYTES * BLOCK_BYTES)
        for piece in (
            Extent(request.first_byte, half),
            Extent(request.first_byte + half, request.size_bytes - half),
        ):
            if self._found.given_up:
                detail = f"{error.strerror}; {_NOT_NARROWED}"
                bad = LbaRange("unreadable", piece.first_byte, piece.size_bytes, detail=detail)
                self._found.add(ranges=(bad,))
            else:
                self.read(piece)


def _transfer(
    call: Callable[[int, list[memoryview], int], int], fd: int, buffer: mmap.mmap, request: Extent
) -> None:
    """All of it, in as many calls as it takes. Raises OSError."""
    start = request.first_byte % CHUNK_BYTES
    done = 0
    with memoryview(buffer) as view:
        while done < request.size_bytes:
            with view[start + done : start + request.size_bytes] as piece:
                count = call(fd, [piece], request.first_byte + done)
            if count <= 0:
                raise OSError(errno.EIO, "the drive ended before its size")
            done += count


def _check_is_finding(error: OSError, request: Extent) -> None:
    """Raises StepFailedError if `error` is not about these bytes."""
    if error.errno == errno.ENOMEM:
        raise StepFailedError(
            Phrase(
                N_("the machine has too little RAM for the request at byte {byte}"),
                byte=request.first_byte,
            ),
            hint=N_("what was stored is kept"),
            blame="other",
        ) from error
    if error.errno in _GONE:
        raise StepFailedError(
            Phrase(
                N_("the drive disappeared at byte {byte}: {error}"),
                byte=request.first_byte,
                error=error.strerror,
            )
        ) from error


def _work(
    requests: Iterable[Extent],
    make_worker: Callable[[], Callable[[Extent], None]],
    found: StretchResult,
    tell: Callable[[int], None],
) -> None:
    """All requests, by threads. Raises what a worker or `tell` raises, when all have ended."""
    crew = _Crew(iter(requests), found)
    threads = [
        threading.Thread(target=crew.serve, args=(make_worker(),), daemon=True)
        for _ in range(DEPTH)
    ]
    for thread in threads:
        thread.start()
    try:
        tell(found.done_bytes)
        for thread in threads:
            while thread.is_alive():
                thread.join(_POLL_S)
                tell(found.done_bytes)
    finally:
        crew.stopped = found.given_up = True
        # However long it takes: each has a request with the drive, on this open file.
        for thread in threads:
            thread.join()
    if crew.raised:
        raise crew.raised


@dataclass(slots=True)
class _Crew:
    """Threads that take turns."""

    requests: Iterator[Extent]
    found: StretchResult
    stopped: bool = False
    raised: BaseException | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def serve(self, work: Callable[[Extent], None]) -> None:
        """Until nothing is left."""
        try:
            while (request := self._take()) is not None:
                work(request)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            self.raised, self.stopped = error, True

    def _take(self) -> Extent | None:
        with self._lock:
            if self.stopped or self.found.hopeless:
                return None
            return next(self.requests, None)
