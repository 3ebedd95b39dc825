"""The shape of the table `[array]`: its keys, their ranges and defaults.

What concerns the drives' roles is in `plan_places`, what concerns the drives that are there in
`plan_conflicts`. Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from appliance.plan_keys import Allowed, Size, Table, drop_default, one_of
from appliance.plan_model import ArrayPlan

_KIB, _MIB = 1 << 10, 1 << 20
# make-bcache takes powers of two and counts in an unsigned short of sectors (bcache-tools 1.0.8,
# make-bcache.c, `hatoi_validate`). Smaller buckets than this waste a cache on their bookkeeping.
_SMALLEST_BUCKET_BYTES, _LARGEST_BUCKET_BYTES = 64 * _KIB, 16 * _MIB
# "Bad block size": at most a page (Linux 6.12, drivers/md/bcache/super.c, `read_super_common`).
_SMALLEST_BLOCK_BYTES, _LARGEST_BLOCK_BYTES = 512, 4 * _KIB
# Clamped by the kernel without a word (drivers/md/bcache/sysfs.c: UINT_MAX, and
# bch_cutoff_writeback, which is CUTOFF_WRITEBACK in writeback.h).
_MAX_UINT = 0xFFFF_FFFF
_MAX_WRITEBACK_PERCENT = 40


def _refuse_odd(size: int) -> int:
    if size.bit_count() != 1:
        raise ValueError("no power of two")
    return size


_Microseconds = Annotated[
    int,
    Field(ge=0, le=_MAX_UINT),
    Allowed(f"a whole number of microseconds from 0 to {_MAX_UINT}"),
]


class ArrayTable(Table):
    """The array of the drives with the roles cache and backing."""

    kind: Annotated[
        Literal["bcache"], Field(description="What makes the array."), one_of("bcache")
    ] = "bcache"
    cache_mode: Annotated[
        Literal["writethrough", "writeback", "writearound", "none"],
        Field(description="What is written to the cache, and when to the backing drive."),
        one_of("writethrough", "writeback", "writearound", "none"),
    ] = "writeback"
    bucket: Annotated[
        Annotated[
            Size,
            Field(ge=_SMALLEST_BUCKET_BYTES, le=_LARGEST_BUCKET_BYTES),
            AfterValidator(_refuse_odd),
        ],
        Field(
            description="How much of the cache is filled and emptied at once.",
            json_schema_extra={"default": "512K"},
        ),
        Allowed('a power of two from "64K" to "16M" such as "512K"'),
    ] = 512 * _KIB
    block: Annotated[
        Annotated[
            Size,
            Field(ge=_SMALLEST_BLOCK_BYTES, le=_LARGEST_BLOCK_BYTES),
            AfterValidator(_refuse_odd),
        ],
        Field(
            description="The array's logical block. Absent: the larger one of its drives.",
            json_schema_extra=drop_default,
        ),
        Allowed('512, "1K", "2K" or "4K"'),
    ] = 0
    sequential_cutoff: Annotated[
        Size,
        Field(
            ge=0,
            le=_MAX_UINT,
            description="Longer sequential accesses bypass the cache; 0: none does.",
        ),
        Allowed('0 or a size below "4G" such as "4M", or a number of bytes'),
    ] = 0
    congested_read_threshold_us: Annotated[
        _Microseconds,
        Field(description="A cache slower than this is bypassed by reads; 0: never."),
    ] = 0
    congested_write_threshold_us: Annotated[
        _Microseconds,
        Field(description="A cache slower than this is bypassed by writes; 0: never."),
    ] = 0
    writeback_percent: Annotated[
        int,
        Field(
            ge=0,
            le=_MAX_WRITEBACK_PERCENT,
            description="How much of the cache may stay dirty; 0: writes back as fast as it can.",
        ),
        Allowed(f"a whole number from 0 to {_MAX_WRITEBACK_PERCENT}"),
    ] = 10
    clean_timeout: Annotated[
        int,
        Field(
            ge=0,
            le=86_400,
            description="Seconds to wait before each reading test for the array to be clean.",
        ),
        Allowed("a whole number of seconds from 0 to 86400"),
    ] = 600

    def build(self) -> ArrayPlan:
        """What it says, as the engine reads it."""
        return ArrayPlan(
            kind=self.kind,
            cache_mode=self.cache_mode,
            bucket_bytes=self.bucket,
            block_bytes=self.block,
            sequential_cutoff_bytes=self.sequential_cutoff,
            congested_read_threshold_us=self.congested_read_threshold_us,
            congested_write_threshold_us=self.congested_write_threshold_us,
            writeback_percent=self.writeback_percent,
            clean_timeout_s=self.clean_timeout,
        )
