"""Drawing waits for measuring, not the other way round; the first page alone waits for nobody."""

import os
from contextlib import suppress

_BEHIND_ALL = 19


def step_back() -> None:
    """From now on everything else on this machine goes first.

    Each thread by itself: Linux has a nice value per thread, and new ones take their maker's.
    """
    for thread in os.listdir("/proc/self/task"):  # noqa: PTH208  # only the port has pathlib
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(thread), _BEHIND_ALL)
