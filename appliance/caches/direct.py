# SPDX-License-Identifier: Apache-2.0
"""Reading past the page cache: O_DIRECT, aligned by the device's logical block.

Never falls back to reads through the cache: if O_DIRECT is not possible, it raises.
"""

import array
import errno
import fcntl
import mmap
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Self

from appliance import sysfs
from appliance.caches.cachestat import Extent, range_in
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase

BUFFER_BYTES = 1 << 20

_BLKSSZGET = 0x1268  # include/uapi/linux/fs.h: the logical block, as an int
_UNKNOWN_BLOCK_BYTES = 4096  # no drive has more; btrfs, which has no device of its own, uses it
_SYS = Path("/sys/dev/block")


def make_buffer(size_bytes: int = BUFFER_BYTES) -> mmap.mmap:
    """Memory that starts at a page, as O_DIRECT wants it, and is there already."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    return mmap.mmap(-1, size_bytes, flags=flags)


class DirectFile:
    """A file, or a range of a bare drive, open for reading past the page cache.

    Raises StepFailedError on entering when it cannot be opened so, or a range is not aligned.
    """

    def __init__(self, target: Path | Extent) -> None:
        self._extent = target if isinstance(target, Extent) else Extent(target)
        self._fd = -1
        self._start = self._end = 0
        self.block_bytes = 0
        """The device's logical block: what offsets and lengths must be multiples of."""

    @property
    def size_bytes(self) -> int:
        """What `read_all` reads."""
        return self._end - self._start

    def fileno(self) -> int:
        """The open descriptor, for reads by other means."""
        return self._fd

    def __enter__(self) -> Self:
        self._fd = _open_direct(self._extent.path)
        try:
            self._start, self._end = range_in(self._fd, self._extent)
            self.block_bytes = _logical_block_bytes(self._fd)
            if self._start % self.block_bytes or self._extent.length % self.block_bytes:
                raise StepFailedError(
                    Phrase(
                        N_("{extent} is not aligned to the {block} bytes of a block"),
                        extent=self._extent,
                        block=self.block_bytes,
                    ),
                    blame="other",
                )
        except BaseException:
            os.close(self._fd)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def read_all(self, buffer: mmap.mmap, *, poll: Callable[[int], None] | None = None) -> int:
        """Read everything, once, into `buffer` over and over; return the bytes read.

        `buffer` is from `make_buffer` and a multiple of the block. `poll` is given the bytes read
        so far after each buffer; what it raises ends the read. Raises StepFailedError.
        """
        if not len(buffer) or len(buffer) % self.block_bytes:
            raise ValueError(f"a buffer of {len(buffer)} bytes is not made of whole blocks")
        at = self._start
        with memoryview(buffer) as view:
            while at < self._end:
                # The end of a file may lie within a block: ask for the whole block.
                remaining = -(-(self._end - at) // self.block_bytes) * self.block_bytes
                with view[:remaining] as piece:
                    at += self._read_into(piece, at)
                if poll:
                    poll(at - self._start)
        return at - self._start

    def _read_into(self, piece: memoryview, at: int) -> int:
        try:
            count = os.preadv(self._fd, [piece], at)
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise _unsupported(self._extent.path) from error
            raise StepFailedError(
                Phrase(
                    N_("{path} cannot be read at byte {byte}: {error}"),
                    path=self._extent.path,
                    byte=at,
                    error=error.strerror,
                )
            ) from error
        if count <= 0 or (at + count < self._end and count % self.block_bytes):
            raise StepFailedError(
                Phrase(
                    N_("{path} ended at byte {byte}, not {end}"),
                    path=self._extent.path,
                    byte=at + count,
                    end=self._end,
                )
            )
        return min(count, self._end - at)


def _open_direct(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise _unsupported(path) from error
        raise StepFailedError(
            Phrase(N_("{path} cannot be opened: {error}"), path=path, error=error.strerror)
        ) from error


def _unsupported(path: Path) -> StepFailedError:
    return StepFailedError(
        Phrase(
            N_(
                "{path} cannot be read past the page cache: its file system does not support "
                "O_DIRECT"
            ),
            path=path,
        ),
        hint=N_("use ext4, xfs, btrfs or the bare drive"),
        blame="other",
    )


def _logical_block_bytes(fd: int) -> int:
    at = os.fstat(fd)
    if stat.S_ISBLK(at.st_mode):
        answer = array.array("i", [0])
        fcntl.ioctl(fd, _BLKSSZGET, answer)
        return answer[0]
    folder = _SYS / f"{os.major(at.st_dev)}:{os.minor(at.st_dev)}"
    for queue in (folder / "queue", folder / "../queue"):  # a disk, a partition
        if text := sysfs.read_text(queue / "logical_block_size"):
            return int(text)
    return _UNKNOWN_BLOCK_BYTES
