# SPDX-License-Identifier: Apache-2.0
"""cachestat(2): how much of a file or a block device the page cache holds. Reads, never changes.

A file and the block device below it have separate page caches: ask for both.
"""

import ctypes
import mmap
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import override

from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase

PAGE_BYTES = mmap.PAGESIZE

# The number is the same on every architecture that Debian's stick can boot on
# (kernel: scripts/syscall.tbl; new in Linux 6.5).
_SYSCALL = 451


@dataclass(frozen=True, slots=True)
class Extent:
    """A range of a file or a block device, in bytes, usable wherever a file is."""

    path: Path
    offset: int = 0
    length: int = 0
    """0: to the end."""

    @override
    def __str__(self) -> str:
        if not self.offset and not self.length:
            return str(self.path)
        end = str(self.offset + self.length) if self.length else "end"
        return f"{self.path}[{self.offset}..{end}]"


Target = Path | Extent


@dataclass(frozen=True, slots=True)
class Pages:
    """What the page cache holds, in bytes: multiples of the page size."""

    resident_bytes: int = 0
    dirty_bytes: int = 0
    writeback_bytes: int = 0


class PagesUnknownError(StepFailedError):
    """The kernel does not say what the page cache holds: nothing can be proven."""


class _Range(ctypes.Structure):  # struct cachestat_range in include/uapi/linux/mman.h
    _fields_ = (("off", ctypes.c_uint64), ("len", ctypes.c_uint64))


class _Counts(ctypes.Structure):  # struct cachestat, all in pages
    _fields_ = (
        ("nr_cache", ctypes.c_uint64),
        ("nr_dirty", ctypes.c_uint64),
        ("nr_writeback", ctypes.c_uint64),
        ("nr_evicted", ctypes.c_uint64),
        ("nr_recently_evicted", ctypes.c_uint64),
    )


def page_stats(path: Path, *, offset: int = 0, length: int = 0) -> Pages:
    """What the page cache holds of a file or block device; `length` 0: to the end.

    Raises PagesUnknownError where the kernel does not say, StepFailedError when it cannot be
    opened.
    """
    fd = open_readable(path)
    try:
        cached, dirty, writeback = call_cachestat(fd, offset, length)
    except OSError as error:
        raise PagesUnknownError(
            Phrase(
                N_("what the page cache holds of {path} is not known: cachestat: {error}"),
                path=path,
                error=error.strerror,
            )
        ) from error
    finally:
        os.close(fd)
    return Pages(cached * PAGE_BYTES, dirty * PAGE_BYTES, writeback * PAGE_BYTES)


def target_stats(target: Target) -> Pages:
    """`page_stats` of a file, a block device or a range of one."""
    extent = as_extent(target)
    return page_stats(extent.path, offset=extent.offset, length=extent.length)


def resident_bytes(targets: Iterable[Target]) -> int:
    """How many bytes of all `targets` are in RAM. Raises PagesUnknownError, StepFailedError."""
    return sum(target_stats(target).resident_bytes for target in targets)


def call_cachestat(fd: int, offset: int, length: int) -> tuple[int, int, int]:
    """Pages of the range in the cache, dirty ones, ones under writeback. Raises OSError."""
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    extent = _Range(offset, length)
    counts = _Counts()
    failed = syscall(
        ctypes.c_long(_SYSCALL),
        ctypes.c_int(fd),
        ctypes.byref(extent),
        ctypes.byref(counts),
        ctypes.c_uint(0),
    )
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return counts.nr_cache, counts.nr_dirty, counts.nr_writeback


def as_extent(target: Target) -> Extent:
    """A whole file as a range of itself."""
    return target if isinstance(target, Extent) else Extent(target)


def open_readable(path: Path) -> int:
    """A descriptor for reading `path`. Raises StepFailedError."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("{path} cannot be opened: {error}"), path=path, error=error.strerror)
        ) from error


def range_in(fd: int, extent: Extent) -> tuple[int, int]:
    """Start and end of `extent` in the open file or device, in bytes.

    Raises StepFailedError when it does not lie within.
    """
    size = os.lseek(fd, 0, os.SEEK_END)  # st_size of a block device is 0
    end = extent.offset + extent.length if extent.length else size
    if extent.offset < 0 or extent.length < 0 or not extent.offset <= end <= size:
        raise StepFailedError(
            Phrase(
                N_("{extent} is not within the {bytes} bytes of {path}"),
                extent=extent,
                bytes=size,
                path=extent.path,
            )
        )
    return extent.offset, end


def is_block_device(path: Path) -> bool:
    """Whether `path` is a drive, partition or array and not a file."""
    try:
        return stat.S_ISBLK(path.stat().st_mode)
    except OSError:
        return False
