# SPDX-License-Identifier: Apache-2.0
"""Cache states for figures to report on: what was set up and counted, as the engine judges it.

No state is put in by hand: a page shall not be tested on one that no campaign can have.
"""

from dataclasses import dataclass

from appliance.caches.cachestat import Pages
from appliance.caches.judge import judge_reads, judge_writes
from appliance.caches.page_cache import judge_drop
from appliance.samples.model import CacheState, PageCache

_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class Setup:
    """A state of the page cache as it was requested, and how that is known."""

    requested: PageCache
    proven: bool
    reason: str
    ballast_bytes: int = 0
    drive_state: str = "first step on it"

    def read(self, app: float = _BYTES, served: float | None = None) -> CacheState:
        """What reading `app` bytes met, of which the device served that many: all unless given."""
        return judge_reads(
            requested=self.requested,
            proven_before=self.proven,
            reason=self.reason,
            app_read_bytes=int(app),
            device_read_bytes=int(app if served is None else served),
            ballast_bytes=self.ballast_bytes,
            drive_state=self.drive_state,
        )

    def write(self) -> CacheState:
        """What writing met, of which the device was given everything."""
        return judge_writes(
            requested=self.requested,
            proven_before=self.proven,
            reason=self.reason,
            app_write_bytes=_BYTES,
            device_write_bytes=_BYTES,
            ballast_bytes=self.ballast_bytes,
            drive_state=self.drive_state,
        )


_EMPTY = judge_drop(total=3, left=())
_KEPT = judge_drop(total=3, left=(("/mnt/fio.dat", Pages(resident_bytes=49152), "", ("fio",)),))

BYPASS = Setup("bypass", proven=True, reason="O_DIRECT")
COLD = Setup("cold", proven=_EMPTY.proven, reason=_EMPTY.reason)
NOT_DROPPED = Setup("cold", proven=_KEPT.proven, reason=_KEPT.reason)
WARM = Setup("warm", proven=True, reason=f"cachestat: all {_BYTES} bytes of 1 file in RAM")
BALLAST = Setup("cold", proven=_EMPTY.proven, reason=_EMPTY.reason, ballast_bytes=3 << 30)
