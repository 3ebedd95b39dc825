# SPDX-License-Identifier: Apache-2.0
"""Waiting until no data is only in the cache."""

import time

from appliance.arrays.model import Array, ArrayState
from appliance.arrays.settings import hurried
from appliance.arrays.state import check_cache, format_amount, read_state
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress

# Within this a disk writes back something, however scattered: 30 s pass before bcache looks for
# more (writeback_delay), and `dirty_data` shows nothing smaller than a thousandth.
_NO_PROGRESS_S = 600.0
_LOOK_EVERY_S = 0.2


def wait_clean(array: Array, *, timeout_s: float, tell: Progress) -> str:
    """Write back what is dirty; say what was not reached in time, nothing if it was.

    Writing back is hurried meanwhile; all settings are as before afterwards. Raises StepFailedError
    where the array or its cache is gone, ArrayStuckError, and what `tell` raises.
    """
    end_s = time.monotonic() + timeout_s
    with hurried(array):
        while True:
            now = read_state(array)
            check_cache(array)
            if now.state == "clean" and now.dirty_bytes == 0:
                return ""
            if time.monotonic() > end_s:
                return Phrase(
                    N_("not clean after {seconds} s: {size} dirty, state {state}"),
                    seconds=f"{timeout_s:.0f}",
                    size=format_amount(now.dirty_bytes),
                    state=now.state,
                )
            _tell_dirty(now, tell)
            time.sleep(_LOOK_EVERY_S)


def write_back_all(array: Array, *, tell: Progress) -> None:
    """Write back what is dirty, however long that takes; `state` may say dirty for a while yet.

    Raises StepFailedError when it comes to a standstill; otherwise as `wait_clean`.
    """
    least = None
    moved_s = time.monotonic()
    with hurried(array):
        while (now := read_state(array)).dirty_bytes:
            if least is None or now.dirty_bytes < least:
                least = now.dirty_bytes
                moved_s = time.monotonic()
            if time.monotonic() - moved_s > _NO_PROGRESS_S:
                raise StepFailedError(
                    Phrase(
                        N_(
                            "nothing was written back for {seconds} s: {size} are only in the "
                            "cache drive"
                        ),
                        seconds=f"{_NO_PROGRESS_S:.0f}",
                        size=format_amount(now.dirty_bytes),
                    )
                )
            check_cache(array)
            _tell_dirty(now, tell)
            time.sleep(_LOOK_EVERY_S)
    check_cache(array)


def _tell_dirty(now: ArrayState, tell: Progress) -> None:
    tell(
        Phrase(
            N_("writing back what only the cache drive has: {size}"),
            size=format_amount(now.dirty_bytes),
        ),
        0,
        0,
    )
