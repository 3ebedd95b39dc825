# SPDX-License-Identifier: Apache-2.0
"""The amount of an array's data that is only in its cache, second by second.

Only reads; must never fail a step.
"""

from collections.abc import Callable, Sequence
from typing import override

from appliance.errors import KaltstartError
from appliance.samples.model import DirtySample
from appliance.samples.recorder import Recorder


class DirtyRecorder(Recorder[DirtySample]):
    """Asks `read` for the dirty bytes each second. An array that is gone is not asked."""

    def __init__(self, read: Callable[[], int], *, start_s: float = 0.0) -> None:
        super().__init__(start_s=start_s)
        self._read = read

    @override
    def look(self, t_s: float) -> Sequence[DirtySample]:
        try:
            return (DirtySample(t_s, self._read()),)
        except (KaltstartError, OSError, ValueError):
            return ()
