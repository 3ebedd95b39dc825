# SPDX-License-Identifier: Apache-2.0
"""An array without drives: notes what is written to it, and has a backing drive that counts."""

from dataclasses import dataclass, field
from typing import override

from appliance.samples.diskstats import DiskStats
from appliance.samples.variants import CacheMode
from appliance.workloads.base import ArrayControl, MemberCounters


@dataclass
class FakeArray(ArrayControl):
    """Clean at once, unless `remark` says what is left."""

    happened: list[str] = field(default_factory=list)
    """What was asked for, in its order."""
    remark: str = ""
    backing_read_bytes: int = 0
    backing_write_bytes: int = 0
    clean_timeout: float = 600

    @property
    @override
    def clean_timeout_s(self) -> float:
        return self.clean_timeout

    @override
    def come_to_rest(self) -> str:
        self.happened.append("array rest")
        return self.remark

    @override
    def set_cache_mode(self, mode: CacheMode) -> None:
        self.happened.append(f"mode {mode}")

    @override
    def empty_cache(self) -> None:
        self.happened.append("empty cache")

    @override
    def read_members(self) -> MemberCounters:
        return MemberCounters(
            backing=DiskStats(0, self.backing_read_bytes, 0, self.backing_write_bytes),
            cache=DiskStats(0, 0, 0, 0),
        )
