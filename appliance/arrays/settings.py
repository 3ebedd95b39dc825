# SPDX-License-Identifier: Apache-2.0
"""The settings of a running array; each is read back after writing."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from mmap import PAGESIZE
from pathlib import Path

from appliance.arrays.control import block, control, read, set_folder, write
from appliance.arrays.model import Array
from appliance.arrays.state import format_amount, parse_choice, parse_dirty_threshold_pages
from appliance.errors import KaltstartError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.model import ArrayPlan
from appliance.samples.variants import CacheMode
from appliance.units import format_size

_UNWRITTEN_SHARE = 8
_VMSTAT = Path("/proc/vmstat")


def set_cache_mode(array: Array, mode: CacheMode) -> None:
    """From now on. Raises StepFailedError where the kernel does not take it, ArrayStuckError."""
    file = control(array.backing) / "cache_mode"
    write(file, mode)
    _check(file, parse_choice(read(file)), mode)


def apply_settings(array: Array, plan: ArrayPlan) -> None:
    """Everything the plan says of a running array. Raises as `set_cache_mode` does."""
    folder = control(array.backing)
    set_cache_mode(array, plan.cache_mode)
    cutoff = folder / "sequential_cutoff"
    write(cutoff, str(plan.sequential_cutoff_bytes))
    _check(cutoff, read(cutoff), format_amount(plan.sequential_cutoff_bytes))
    _set_number(folder / "writeback_percent", plan.writeback_percent)
    folder = set_folder(array.set_uuid)
    _set_number(folder / "congested_read_threshold_us", plan.congested_read_threshold_us)
    _set_number(folder / "congested_write_threshold_us", plan.congested_write_threshold_us)
    _limit_unwritten(array)


def _limit_unwritten(array: Array) -> None:
    """Limit what RAM holds unwritten for the array to 1/8 of the cache's size.

    bcache decides on each write as it comes, by the fill that its last garbage collection found,
    has no queue that would hold writes up, and cannot write back while one of them waits for a free
    bucket (writeback_lock in drivers/md/bcache/request.c). When the page cache hands over more at
    once than the cache has room for, they wait for each other for ever: seen with Linux 6.12.
    """
    limit_bytes = _share_bytes(array)
    # What RAM holds before programs must wait is usually less. The kernel accepts no larger limit
    # than that threshold, which moves a little: near it the limit would change nothing.
    threshold_bytes = parse_dirty_threshold_pages(read(_VMSTAT)) * PAGESIZE
    if limit_bytes >= threshold_bytes * 9 // 10:
        return
    folder = block(array.name) / "bdi"
    _set_number(folder / "strict_limit", 1)
    # Kept as a share of the threshold, which moves with the free RAM: not read back as it was set.
    write(folder / "max_bytes", str(limit_bytes))


def describe_limit(array: Array) -> str:
    """How much RAM may hold of what is to be written to the running array; empty: as for others.

    Raises StepFailedError, ArrayStuckError.
    """
    if read(block(array.name) / "bdi/strict_limit") != "1":
        return ""
    return Phrase(
        N_("RAM holds at most {size} of unwritten data"), size=format_size(_share_bytes(array))
    )


def _share_bytes(array: Array) -> int:
    size = block(array.cache) / "size"
    sectors = read(size)
    if not sectors.isdigit():
        raise StepFailedError(
            Phrase(N_("{file} reports no size: the cache drive may be gone"), file=size)
        )
    return int(sectors) * 512 // _UNWRITTEN_SHARE


@contextmanager
def hurried(array: Array) -> Iterator[None]:
    """Writing back goes as fast as the drives do, for as long as the block lasts."""
    folder = control(array.backing)
    # No percentage: no rate to keep to (writeback_delay() in drivers/md/bcache/writeback.c). No
    # delay: the next look for dirty data follows at once; one that has begun is slept through.
    values = {"writeback_running": 1, "writeback_delay": 0, "writeback_percent": 0}
    before = {name: read(folder / name) for name in values}

    def restore() -> None:
        for name, text in before.items():
            if text.isdigit() and (folder / name).exists():  # the array may have gone meanwhile
                write(folder / name, text)

    try:
        for name, value in values.items():
            _set_number(folder / name, value)
        yield
    except BaseException:
        with suppress(KaltstartError):  # what went wrong first is what counts
            restore()
        raise
    restore()


def _set_number(file: Path, value: int) -> None:
    write(file, str(value))
    _check(file, read(file), str(value))


def _check(file: Path, now: str, wanted: str) -> None:
    if now != wanted:
        raise StepFailedError(
            Phrase(
                N_("bcache has {now} in {file} where {wanted} was set"),
                now=f"{now!r}",
                file=file,
                wanted=f"{wanted!r}",
            )
        )
