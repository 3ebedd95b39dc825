# SPDX-License-Identifier: Apache-2.0
"""The state of a running array as bcache reports it, and the counters of its cache.

The counters: bcache counts requests in collectors, and a timer moves these to what can be read
every accounting_delay = HZ * 300 / 22 (scale_accounting() in drivers/md/bcache/stats.c). So what
is read is up to 13.7 s old, and clearing does not clear what is in the collectors: both are done
one tick after the last request. The timer shifts what it moves by 16 bits within 32, which is why
CacheCounters has figures that may be too low.
"""

import re
import time

from appliance.arrays.control import control, linked, read, write
from appliance.arrays.model import Array, ArrayState, CacheCounters
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress

COUNTER_TICK_S = 300 / 22
"""accounting_delay."""

_TICK_MARGIN_S = 1.0
_PAUSE_S = 0.2
_UNITS = "?kMGTPEZY"  # bch_hprint() in drivers/md/bcache/util.c
_AMOUNT = re.compile(rf"(\d+)\.(\d)([{_UNITS[1:]}])")


def parse_amount(text: str) -> int:
    """The bytes in bcache's `1.5M`: one decimal, cut off, of a power of 1024.

    Raises StepFailedError for anything else, such as the empty text of a device that has gone.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise StepFailedError(
            Phrase(
                N_("bcache gave {text} for an amount of bytes: its array may be gone"),
                text=f"{text!r}",
            )
        )
    unit_bytes: int = 1024 ** _UNITS.index(match[3])
    return (int(match[1]) * 10 + int(match[2])) * unit_bytes // 10


def format_amount(size_bytes: int) -> str:
    """How bcache shows so many bytes: to compare what it took with what it was given."""
    unit, rest = 0, 0
    while unit == 0 or size_bytes >= 1000:
        size_bytes, rest = divmod(size_bytes, 1024)
        unit += 1
    return f"{size_bytes}.{rest * 10 // 1024}{_UNITS[unit]}"


def parse_choice(text: str) -> str:
    """The one in brackets of bcache's `writethrough [writeback] writearound none`."""
    match = re.search(r"\[([^]]*)\]", text)
    return match[1] if match else ""


def has_cache(array: Array) -> bool:
    """Whether the cache is still attached; the link takes no lock.

    `state` does not tell: it is the superblock's, where a cache that failed leaves what was there
    before (see `model.label_of`). The link goes in any case: bcache_device_unlink() in super.c.
    """
    return linked(control(array.backing) / "cache") == array.set_uuid


def check_cache(array: Array) -> None:
    """Raises StepFailedError when the array is gone, or only its disk is left."""
    if not control(array.backing).exists():
        raise StepFailedError(Phrase(N_("{path} is gone"), path=array.path))
    if not has_cache(array):
        raise StepFailedError(Phrase(N_("{path} has lost its cache"), path=array.path))


def read_state(array: Array) -> ArrayState:
    """Raises StepFailedError when it is gone, ArrayStuckError when the kernel does not answer."""
    folder = control(array.backing)
    return ArrayState(
        state=read(folder / "state"),
        dirty_bytes=read_dirty_bytes(array),
        cache_mode=parse_choice(read(folder / "cache_mode")),
    )


def read_dirty_bytes(array: Array) -> int:
    """What is in the cache only, as exactly as bcache says it. Raises as `read_state` does."""
    return parse_amount(read(control(array.backing) / "dirty_data"))


def clear_counters(array: Array, tell: Progress) -> None:
    """Set all counters to zero; call it when nothing is asked of the array. Takes one tick."""
    _wait_for_tick(tell)
    write(control(array.backing) / "clear_stats", "1")


def read_counters_settled(array: Array, tell: Progress) -> CacheCounters:
    """All that was counted; call it when nothing is asked of the array any more. Takes one tick."""
    _wait_for_tick(tell)
    folder = control(array.backing) / "stats_total"
    counts = {name: read(folder / name) for name in _COUNTERS}
    gone = [name for name, text in counts.items() if not text.isdigit()]
    if gone:
        raise StepFailedError(
            Phrase(
                N_("bcache does not give {file} of {path}: the array may be gone"),
                file=gone[0],
                path=array.path,
            )
        )
    return CacheCounters(
        **{name: int(text) for name, text in counts.items()},
        bypassed_bytes=parse_amount(read(folder / "bypassed")),
    )


_COUNTERS = ("cache_hits", "cache_misses", "cache_bypass_hits", "cache_bypass_misses")


def _wait_for_tick(tell: Progress) -> None:
    end_s = time.monotonic() + COUNTER_TICK_S + _TICK_MARGIN_S
    while time.monotonic() < end_s:
        tell(N_("waiting for bcache's counters"), 0, 0)
        time.sleep(_PAUSE_S)


def parse_dirty_threshold_pages(vmstat: str) -> int:
    """`nr_dirty_threshold` of /proc/vmstat: where programs that write are made to wait."""
    for line in vmstat.splitlines():
        name, _, value = line.partition(" ")
        if name == "nr_dirty_threshold":
            return int(value)
    raise StepFailedError(N_("/proc/vmstat has no nr_dirty_threshold: unknown kernel"))
