# SPDX-License-Identifier: Apache-2.0
"""RAM ballast: a ramfs file that takes memory away until the wanted amount is free.

ramfs, because its pages are never swapped out nor reclaimed. Owns /run/kaltstart/ballast; must
never take the machine's last memory, and never leave the ballast behind.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from appliance import sysfs
from appliance.caches.cachestat import PAGE_BYTES
from appliance.caches.page_cache import drop_caches
from appliance.errors import StepFailedError, blaming
from appliance.phrases import N_, Phrase
from appliance.progress import Progress
from appliance.run import run
from appliance.units import format_size

FOLDER = Path("/run/kaltstart/ballast")
FLOOR_BYTES = 96 << 20
"""What always stays available, whatever was asked for: the engine, the interface and the kernel
live from it."""
CHUNK_BYTES = 8 << 20

_FILE = "fill"
_MEMINFO = Path("/proc/meminfo")
_owners: list[object] = []
"""Who has made the ballast that there is."""
_LAYERS = 8  # of ballasts mounted over each other: more than any row of crashes makes


@contextmanager
def ballast(
    free_ram_bytes: int, *, bench: Path | None, progress: Progress | None = None
) -> Iterator[int]:
    """Fill memory until no more than `free_ram_bytes` are available; yields the ballast's bytes.

    Empties the page cache first, of what was written in the folder `bench` too. 0 when less is
    available anyway. Released at the end whatever happens. Raises StepFailedError when that amount
    is impossible or the kernel refuses, and whatever `progress` raises.
    """
    check_free_ram(free_ram_bytes, total_bytes=read_memory("MemTotal"))
    release_ballast()
    drop_caches([bench] if bench else [])  # cached pages count as available only in part
    this = object()
    _owners.append(this)
    try:
        yield _fill(free_ram_bytes, progress)
    except BaseException:
        with suppress(StepFailedError):  # what went wrong first is what counts
            _release(this)
        raise
    _release(this)


def _release(owner: object) -> None:
    """Not a later one's, by a thread that was left behind."""
    if owner in _owners:
        release_ballast()


def release_ballast() -> bool:
    """Release the memory of any ballast, also one left behind; return whether there was one.

    Raises StepFailedError when the kernel does not release it.
    """
    _owners.clear()
    had_ballast = False
    for _ in range(_LAYERS):
        if not FOLDER.is_mount():
            break
        had_ballast = True
        with suppress(OSError):
            (FOLDER / _FILE).unlink()  # the memory is free even if something keeps the mount busy
        with blaming("other"):
            run(["umount", str(FOLDER)], timeout_s=300)
    return had_ballast


def check_free_ram(free_ram_bytes: int, *, total_bytes: int) -> None:
    """Raises StepFailedError when so much can or may not be left free. Pure."""
    if free_ram_bytes < FLOOR_BYTES:
        raise StepFailedError(
            Phrase(
                N_("a ballast that leaves {size} of RAM free would exhaust the memory"),
                size=format_size(free_ram_bytes),
            ),
            hint=Phrase(N_("leave at least {least}M free"), least=FLOOR_BYTES >> 20),
            blame="other",
        )
    if free_ram_bytes > total_bytes:
        raise StepFailedError(
            Phrase(
                N_("a ballast cannot leave {size} of RAM free: the machine has {total}"),
                size=format_size(free_ram_bytes),
                total=format_size(total_bytes),
            ),
            hint=N_("leave more RAM free, or omit the ballast"),
            blame="other",
        )


def next_chunk(available_bytes: int, *, free_ram_bytes: int) -> int:
    """How much to write next, in bytes: whole pages, 0 when there is enough ballast. Pure."""
    free_bytes = max(free_ram_bytes - free_ram_bytes % PAGE_BYTES, FLOOR_BYTES)
    over = max(available_bytes - free_bytes, 0)
    return min(over - over % PAGE_BYTES, CHUNK_BYTES)


def parse_meminfo(text: str, key: str) -> int:
    """One amount of /proc/meminfo in bytes. Pure. Raises StepFailedError when it is not there."""
    match = re.search(rf"^{re.escape(key)}:\s+(\d+) kB$", text, re.MULTILINE)
    if match is None:
        raise StepFailedError(Phrase(N_("/proc/meminfo has no {key}"), key=key), blame="other")
    return int(match[1]) << 10


def read_memory(key: str) -> int:
    """One amount of this machine's memory now, in bytes: `MemTotal`, `MemAvailable`.

    Raises StepFailedError.
    """
    return parse_meminfo(sysfs.read_text(_MEMINFO), key)


def _fill(free_ram_bytes: int, progress: Progress | None) -> int:
    available = read_memory("MemAvailable")
    if not next_chunk(available, free_ram_bytes=free_ram_bytes):
        return 0
    total = available - free_ram_bytes
    FOLDER.mkdir(parents=True, exist_ok=True)
    with blaming("other"):
        run(["mount", "-t", "ramfs", "-o", "mode=0700", "ramfs", str(FOLDER)])
    pages = memoryview(b"\xa5" * CHUNK_BYTES)
    size_bytes = 0
    try:
        with (FOLDER / _FILE).open("wb", buffering=0) as file:
            while chunk := next_chunk(available, free_ram_bytes=free_ram_bytes):
                size_bytes += os.write(file.fileno(), pages[:chunk])
                if progress:
                    progress(N_("Filling RAM with ballast"), min(size_bytes, total), total)
                available = read_memory("MemAvailable")
    except OSError as error:
        raise StepFailedError(
            Phrase(
                N_("the ballast stopped at {size}: {error}"),
                size=format_size(size_bytes),
                error=error.strerror,
            ),
            blame="other",
        ) from error
    return size_bytes
