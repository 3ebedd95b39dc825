# SPDX-License-Identifier: Apache-2.0
"""The page cache: emptied or filled for given files and devices, with proof by cachestat(2).

Proof is what the kernel counts afterwards, never that a command was given. What could not be proven
is said, and never raised: only a file or drive that fails is an error.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from appliance import sysfs
from appliance.caches.cachestat import (
    PAGE_BYTES,
    Extent,
    Pages,
    PagesUnknownError,
    Target,
    as_extent,
    is_block_device,
    open_readable,
    range_in,
    target_stats,
)
from appliance.caches.mappers import find_mappers, mounted_file_system
from appliance.drive_thread import DriveSilentError, DriveThread, Silence
from appliance.errors import StepFailedError
from appliance.flush import flush
from appliance.phrases import N_, Phrase
from appliance.progress import Progress, ignore_progress

_DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_DROP_S = 120.0
_BLKFLSBUF = 0x1261  # linux/fs.h
_held_up: list[Silence] = []
"""Droppings that do not end."""
_TRIES = 3
_PAUSE_S = 0.2
_NAMED = 3
_CHUNK_BYTES = 1 << 20


class CacheProof(NamedTuple):
    """How a drop or a warm-up ended."""

    proven: bool
    """No page of any target is in RAM, or every page of every one."""
    reason: str
    """What proves it, or what remains or is missing: a sentence for the report."""


@contextmanager
def kept_open(targets: Sequence[Target]) -> Iterator[None]:
    """Hold `targets` open, so that the kernel keeps what it cached of a bare drive.

    It forgets a block device's pages when the last program closes it (block/bdev.c,
    blkdev_flush_mapping): without this every reopened bare drive would be cold. Raises
    StepFailedError.
    """
    with ExitStack() as undo:
        for path in sorted({as_extent(target).path for target in targets}):
            undo.callback(os.close, open_readable(path))
        yield


def drop_caches(paths: Sequence[Path]) -> None:
    """Write back these, then empty the page cache of everything clean and unmapped.

    Where another drive hangs while it is mounted or unmounted, of `paths` alone: the kernel then
    waits for that (iterate_supers() in fs/super.c). Raises StepFailedError where it does not allow
    it.
    """
    flush(paths)  # only clean pages are dropped
    if not any(silence.is_held() for silence in _held_up):
        drop = partial(sysfs.write_text, _DROP_CACHES, "3")
        dropping = DriveThread(
            "the page cache",
            read_signs=dict,
            limit_s=_DROP_S,
            tell=ignore_progress,
            on_silence=_held_up.append,
        )
        with suppress(DriveSilentError), dropping as hand:
            hand.do(drop, N_("dropping it"))
            return
    for path in paths:
        _forget(path)


def _forget(path: Path) -> None:
    """Drop what is clean and unmapped of a file, or of a device."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if stat.S_ISBLK(os.fstat(fd).st_mode):
                fcntl.ioctl(fd, _BLKFLSBUF, 0)
            else:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def drop_page_cache(targets: Sequence[Target]) -> CacheProof:
    """Empty the page cache, then look at every target: name files *and* their block device.

    Tries a few times, as pages may be busy for a moment. Of a device with a mounted file system
    only what that keeps of its own metadata may remain; data of files is not read through it.
    Raises StepFailedError when a target cannot be opened.
    """
    remaining: list[tuple[Target, Pages]] = []
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_S)
        drop_caches([as_extent(target).path for target in targets])
        try:
            remaining = [
                (target, pages)
                for target in targets
                if (pages := target_stats(target)).resident_bytes
            ]
        except PagesUnknownError as error:
            return CacheProof(proven=False, reason=error.message)
        if not [pair for pair in remaining if not _metadata_owner(*pair)]:
            break
    return judge_drop(
        total=len(targets),
        left=[
            # Looking through the maps of all programs takes its time: for those that get named.
            (
                str(target),
                pages,
                _metadata_owner(target, pages),
                _mappers(target, pages) if number <= _NAMED else (),
            )
            for number, (target, pages) in enumerate(remaining)
        ],
    )


def judge_drop(
    *, total: int, left: Sequence[tuple[str, Pages, str, tuple[str, ...]]]
) -> CacheProof:
    """What the targets that kept pages mean. Pure.

    `left` has name, pages, the file system whose metadata they are (or nothing), and programs that
    have it mapped.
    """
    held = [row for row in left if not row[2]]
    if not total:
        return CacheProof(proven=False, reason="dropped, but nothing was looked at")
    if not held:
        reason = f"cachestat: no page of {_count(total)} in RAM"
        for name, pages, owner, _ in left:
            reason += f", but {pages.resident_bytes} bytes that {owner} keeps of its own on {name}"
        return CacheProof(proven=True, reason=reason)
    named = "; ".join(
        f"{name}: {_describe(pages, mappers)}" for name, pages, _, mappers in held[:_NAMED]
    )
    more = f"; and {len(held) - _NAMED} more" if len(held) > _NAMED else ""
    return CacheProof(
        proven=False, reason=f"{len(held)} of {_count(total)} kept pages in RAM: {named}{more}"
    )


def _count(total: int) -> str:
    return "1 file or device" if total == 1 else f"{total} files and devices"


def _describe(pages: Pages, mappers: tuple[str, ...]) -> str:
    words = [f"{pages.resident_bytes} bytes"]
    if pages.dirty_bytes:
        words.append(f"{pages.dirty_bytes} dirty")
    if pages.writeback_bytes:
        words.append(f"{pages.writeback_bytes} under writeback")
    if mappers:
        words.append(f"mapped by {', '.join(mappers[:_NAMED])}")
    if len(words) == 1:
        words.append("clean and not mapped")
    return ", ".join(words)


def _metadata_owner(target: Target, pages: Pages) -> str:
    """The mounted file system that clean pages of a whole device belong to, or nothing."""
    extent = as_extent(target)
    if extent.offset or extent.length or pages.dirty_bytes or pages.writeback_bytes:
        return ""
    return mounted_file_system(extent.path) if is_block_device(extent.path) else ""


def _mappers(target: Target, pages: Pages) -> tuple[str, ...]:
    if pages.dirty_bytes + pages.writeback_bytes >= pages.resident_bytes:
        return ()  # that alone explains it
    return find_mappers(as_extent(target).path)


def warm_page_cache(targets: Sequence[Target], *, progress: Progress | None = None) -> CacheProof:
    """Read all `targets` through the page cache, then prove that every page stayed.

    A bare drive must be in `kept_open` for as long as it is to stay warm. Raises StepFailedError
    when one cannot be read, and whatever `progress` raises.
    """
    ranges = [_range_of(as_extent(target)) for target in targets]
    total = sum(end - start for _, start, end in ranges)
    done = 0
    buffer = bytearray(_CHUNK_BYTES)
    for path, start, end in ranges:
        for count in _read(path, start, end, buffer):
            done += count
            if progress:
                progress(N_("Reading into RAM"), done, total)
    page_bytes = sum(_rounded(start, end) for _, start, end in ranges)
    # Looked at only now that all is closed again: what would not stay must not count.
    try:
        resident = [target_stats(target).resident_bytes for target in targets]
    except PagesUnknownError as error:
        return CacheProof(proven=False, reason=error.message)
    missing = [
        str(target)
        for target, (_, start, end), bytes_ in zip(targets, ranges, resident, strict=True)
        if bytes_ < _rounded(start, end)
    ]
    if missing:
        reason = (
            f"cachestat: only {sum(resident)} of {page_bytes} bytes stayed in RAM; not all of "
            f"{', '.join(missing[:_NAMED])}"
        )
    elif targets:
        reason = f"cachestat: all {page_bytes} bytes of {_count(len(targets))} in RAM"
    else:
        reason = "nothing was read"
    return CacheProof(proven=bool(targets) and not missing, reason=reason)


def _range_of(extent: Extent) -> tuple[Path, int, int]:
    fd = open_readable(extent.path)
    try:
        return extent.path, *range_in(fd, extent)
    finally:
        os.close(fd)


def _rounded(start: int, end: int) -> int:
    """The bytes of all pages that start…end touches."""
    if start == end:
        return 0
    return (-(-end // PAGE_BYTES) - start // PAGE_BYTES) * PAGE_BYTES


def _read(path: Path, start: int, end: int, buffer: bytearray) -> Iterator[int]:
    """Read the range into `buffer` over and over; the bytes of each go. Raises StepFailedError."""
    fd = open_readable(path)
    view = memoryview(buffer)
    try:
        while start < end:
            try:
                count = os.preadv(fd, [view[: end - start]], start)
            except OSError as error:
                raise StepFailedError(
                    Phrase(
                        N_("{path} cannot be read at byte {byte}: {error}"),
                        path=path,
                        byte=start,
                        error=error.strerror,
                    )
                ) from error
            if not count:
                raise StepFailedError(
                    Phrase(
                        N_("{path} ended at byte {byte} instead of {end}"),
                        path=path,
                        byte=start,
                        end=end,
                    )
                )
            start += count
            yield count
    finally:
        os.close(fd)
