# SPDX-License-Identifier: Apache-2.0
"""How each pass of the lottery reads a file: through the page cache, past it, mapped or buffered.

Owns the timed inner loops. Must never write, and never give the kernel advice that a plain program
would not give.
"""

import ctypes
import mmap
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, override

from appliance.caches.direct import DirectFile, make_buffer
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress
from appliance.workloads.lottery.draw import LotteryFile
from appliance.workloads.lottery.keys import LotteryPass
from appliance.workloads.progress_meter import ProgressMeter

CACHED_CHUNK_BYTES = 1 << 20
DIRECT_CHUNK_BYTES = 4 << 20
"""Large enough that the kernel keeps several requests with the drive."""
_MADV_POPULATE_READ = 22  # include/uapi/asm-generic/mman-common.h
_MAP_FAILED = ctypes.c_void_p(-1).value
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long),
)
_LIBC.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class Pulse:
    """How far a pass is, told by the files it reads."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._watch = ProgressMeter(progress, what)
        self._total = total
        self._done = 0

    def at(self, in_file: int) -> None:
        """So many bytes of the file at hand were read. Raises what a stop raises."""
        self._watch.tell(self._done + in_file, self._total)

    def end_file(self, length: int) -> None:
        """That file is done."""
        self._done += length


class Reader(Protocol):
    """One way to read a whole file."""

    def read(self, file: LotteryFile, pulse: Pulse) -> bool:
        """Read all of it; True when the program's own buffer answered, without the kernel.

        Raises StepFailedError.
        """
        ...


class CachedReader(Reader):
    """read() through the page cache into one buffer that is used again and again."""

    def __init__(self) -> None:
        self._buffer = memoryview(make_buffer(CACHED_CHUNK_BYTES))

    @override
    def read(self, file: LotteryFile, pulse: Pulse) -> bool:
        _read_into(self._buffer, file, pulse)
        return False


class DirectReader(Reader):
    """O_DIRECT: the drive answers, always."""

    def __init__(self) -> None:
        self._buffer = make_buffer(DIRECT_CHUNK_BYTES)

    @override
    def read(self, file: LotteryFile, pulse: Pulse) -> bool:
        with DirectFile(file.target) as source:
            done = source.read_all(self._buffer, poll=pulse.at)
        if done != file.length:
            raise _shorter(file, done)
        return False


class MappedReader(Reader):
    """mmap(2), and every page touched in order; the major faults are this thread's own."""

    @override
    def read(self, file: LotteryFile, pulse: Pulse) -> bool:
        with _mapped(file) as address:
            for start in range(0, file.length, CACHED_CHUNK_BYTES):
                size = min(CACHED_CHUNK_BYTES, file.length - start)
                _touch(address + start, size, file, start)
                pulse.at(start + size)
        return False


@contextmanager
def _mapped(file: LotteryFile) -> Iterator[int]:
    """Where it is mapped. Not by Python's mmap: all threads would wait for a page that is read."""
    fd = _open(file)
    try:
        if not file.is_region and os.fstat(fd).st_size != file.length:
            raise _shorter(file, os.fstat(fd).st_size)
        address: int | None = _LIBC.mmap(
            None, file.length, mmap.PROT_READ, mmap.MAP_SHARED, fd, file.offset
        )
        if address in {None, _MAP_FAILED}:
            raise StepFailedError(
                Phrase(
                    N_("{path} cannot be mapped: {error}"),
                    path=file.path,
                    error=os.strerror(ctypes.get_errno()),
                )
            )
    finally:
        os.close(fd)  # the mapping has a descriptor of its own
    try:
        yield address
    finally:
        _LIBC.munmap(address, file.length)


def _touch(address: int, size: int, file: LotteryFile, start: int) -> None:
    """Access each page of a part of the mapping.

    madvise(2): "as if manually reading from each page", by the same fault handler, with its
    read-ahead and its counters; but a page that the drive cannot give is an error here (EFAULT),
    where a load would end the engine by SIGBUS.
    """
    if _LIBC.madvise(address, size, _MADV_POPULATE_READ) != 0:
        raise StepFailedError(
            Phrase(
                N_("{path} cannot be read through its mapping between byte {byte} and {end}"),
                path=file.path,
                byte=file.offset + start,
                end=file.offset + start + size,
            )
        )


class BufferedReader(Reader):
    """A program with a cache of its own: what it has read before never asks the kernel again.

    It keeps whole files, `limit_bytes` of them at most; least recently used goes first.
    """

    def __init__(self, *, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[str, bytearray] = OrderedDict()
        self._buffer = memoryview(make_buffer(CACHED_CHUNK_BYTES))

    @override
    def read(self, file: LotteryFile, pulse: Pulse) -> bool:
        if file.name in self._kept:
            self._kept.move_to_end(file.name)
            # A program gets its bytes from its library by a copy.
            content = memoryview(self._kept[file.name])
            for start in range(0, file.length, CACHED_CHUNK_BYTES):
                piece = content[start : start + CACHED_CHUNK_BYTES]
                self._buffer[: len(piece)] = piece
                pulse.at(start + len(piece))
            return True
        if file.length > self._limit_bytes:
            _read_into(self._buffer, file, pulse)
            return False
        while (len(self._kept) + 1) * file.length > self._limit_bytes:
            self._kept.popitem(last=False)
        whole = bytearray(file.length)
        _read_into(memoryview(whole), file, pulse)
        self._kept[file.name] = whole
        return False


def make_reader(pass_name: LotteryPass, *, available_bytes: int) -> Reader:
    """The way a pass reads. Of the RAM that is available, half may become a program's cache."""
    match pass_name:
        case "cold" | "warm":
            return CachedReader()
        case "direct":
            return DirectReader()
        case "mmap":
            return MappedReader()
        case "buffered-app":
            return BufferedReader(limit_bytes=available_bytes // 2)


def _open(file: LotteryFile) -> int:
    try:
        return os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("{path} cannot be opened: {error}"), path=file.path, error=error.strerror)
        ) from error


def _read_into(buffer: memoryview, file: LotteryFile, pulse: Pulse) -> None:
    """Read the file; a buffer that is shorter is used over and over."""
    fd = _open(file)
    done = 0
    whole = len(buffer) >= file.length
    try:
        while done < file.length:
            size = min(CACHED_CHUNK_BYTES, file.length - done)
            start = done if whole else 0
            done += _read_piece(fd, buffer[start : start + size], file, done)
            pulse.at(done)
    finally:
        os.close(fd)


def _read_piece(fd: int, piece: memoryview, file: LotteryFile, at: int) -> int:
    try:
        count = os.preadv(fd, [piece], file.offset + at)
    except OSError as error:
        raise StepFailedError(
            Phrase(
                N_("{path} cannot be read at byte {byte}: {error}"),
                path=file.path,
                byte=file.offset + at,
                error=error.strerror,
            )
        ) from error
    if not count:
        raise _shorter(file, at)
    return count


def _shorter(file: LotteryFile, length: int) -> StepFailedError:
    return StepFailedError(
        Phrase(
            N_("{path} has {bytes} bytes instead of {wanted}"),
            path=file.path,
            bytes=length,
            wanted=file.length,
        )
    )
