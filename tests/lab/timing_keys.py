# SPDX-License-Identifier: Apache-2.0
"""The keys of a `[[drive]]` table that decide about its time, beside its seeks. Pure."""

from dataclasses import replace

from tests.lab.drive_table import Table
from tests.lab.flash import Learning
from tests.lab.solid_state import FastCells, Heat
from tests.lab.timing import Timing, Zones

_MODELS = {
    "rate": "hdd, sshd, ssd",
    "latency_s": "sshd, ssd",
    "rate_outer": "hdd, sshd",
    "rate_inner": "hdd, sshd",
    "promote_after": "sshd",
    "promote_delay_s": "sshd",
    "promote_idle_s": "sshd",
    "promote_limit": "sshd",
    "flash_keeps": "sshd",
    "write_buffer": "sshd",
    "write_buffer_idle_s": "sshd",
    "slc": "ssd",
    "slc_rate": "ssd",
    "tlc_rate": "ssd",
    "slc_idle_s": "ssd",
    "slc_refill": "ssd",
    "throttle_after": "ssd",
    "throttle_after_s": "ssd",
    "throttle_rate": "ssd",
    "throttle_cool_s": "ssd",
}
TIMING_KEYS = tuple(_MODELS)
_NEEDS = {
    "rate_outer": ("rate_inner",),
    "rate_inner": ("rate_outer",),
    "write_buffer_idle_s": ("write_buffer",),
    "slc": ("tlc_rate",),
    "slc_rate": ("slc",),
    "tlc_rate": ("slc",),
    "slc_idle_s": ("slc",),
    "slc_refill": ("slc",),
    "throttle_after": ("throttle_rate",),
    "throttle_after_s": ("throttle_rate",),
    "throttle_rate": ("throttle_after", "throttle_after_s"),
    "throttle_cool_s": ("throttle_rate",),
}
"""Keys that say nothing without one of others."""
_NEVER = "never"
_MOST_READS = 1000


def parse_timing(table: Table, *, model: str, nand_bytes: int) -> Timing:
    """What the table says of the drive's time. Raises DrivesError."""
    for key in (key for key in _MODELS if key in table.values):
        if model not in _MODELS[key].split(", "):
            raise table.problem(f"{key} is for model {_MODELS[key].replace(', ', ' and ')} only")
        needed = _NEEDS.get(key, ())
        if needed and not any(other in table.values for other in needed):
            raise table.problem(f"{key} needs {' or '.join(needed)} beside it")
    return Timing(
        rate_bytes_s=table.rate("rate", "0"),
        latency_s=table.seconds("latency_s", 0.0),
        zones=_parse_zones(table),
        learning=_parse_learning(table, nand_bytes),
        cells=_parse_cells(table),
        heat=_parse_heat(table),
    )


def _parse_zones(table: Table) -> Zones | None:
    if "rate_outer" not in table.values:
        return None
    zones = Zones(table.rate("rate_outer", "0"), table.rate("rate_inner", "0"))
    if zones.outer_bytes_s < zones.inner_bytes_s:
        raise table.problem("rate_inner is more than rate_outer; a disk is quickest at its rim")
    return zones


def _parse_learning(table: Table, nand_bytes: int) -> Learning:
    usual = Learning()
    learning = Learning(
        promote_after=_parse_reads(table),
        delay_s=table.seconds("promote_delay_s", usual.delay_s),
        idle_s=table.seconds("promote_idle_s", usual.idle_s),
        limit_bytes=table.rate("promote_limit", "0"),
        keeps=table.truth("flash_keeps", default=usual.keeps),
        write_buffer_bytes=table.size("write_buffer", "0"),
        write_buffer_idle_s=table.seconds("write_buffer_idle_s", usual.write_buffer_idle_s),
    )
    if not learning.promote_after:
        for key in ("promote_delay_s", "promote_idle_s", "promote_limit"):
            if key in table.values:
                raise table.problem(f'{key} says nothing where promote_after is "{_NEVER}"')
    if learning.delay_s and learning.idle_s:
        raise table.problem("promote_delay_s and promote_idle_s are two ways: give one of them")
    if learning.write_buffer_bytes > nand_bytes:
        raise table.problem("write_buffer is a part of nand and cannot be larger")
    if learning.write_buffer_bytes and not learning.keeps:
        raise table.problem("write_buffer needs flash that keeps what it holds: no flash_keeps")
    return learning


def _parse_reads(table: Table) -> int:
    value = table.values.get("promote_after", Learning().promote_after)
    if value == _NEVER:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_READS:
        raise table.problem(
            f'promote_after must be a number of reads from 1 to {_MOST_READS}, or "{_NEVER}"'
        )
    return value


def _parse_cells(table: Table) -> FastCells | None:
    size_bytes = table.size("slc", "0")
    if not size_bytes:
        return None
    usual = FastCells(size_bytes=size_bytes, slow_bytes_s=table.rate("tlc_rate", "0"))
    cells = replace(
        usual,
        fast_bytes_s=table.rate("slc_rate", "0"),
        idle_s=table.seconds("slc_idle_s", usual.idle_s),
        refill_bytes_s=table.size("slc_refill", str(usual.refill_bytes_s)),
    )
    if 0 < cells.fast_bytes_s <= cells.slow_bytes_s:
        raise table.problem("slc_rate must be more than tlc_rate, or there is no cliff")
    return cells


def _parse_heat(table: Table) -> Heat | None:
    if "throttle_rate" not in table.values:
        return None
    usual = Heat(limit_bytes_s=table.rate("throttle_rate", "0"))
    return replace(
        usual,
        after_bytes=table.rate("throttle_after", "0"),
        after_s=table.seconds("throttle_after_s", usual.after_s),
        cool_s=table.seconds("throttle_cool_s", usual.cool_s),
    )
