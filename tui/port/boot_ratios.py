# SPDX-License-Identifier: Apache-2.0
"""How many times as long one drive's settled boots took as another's. Pure.

The rules are those of the report (`appliance.report.ratios`): settled boots only, power and proof
the same on both sides.
"""

from collections.abc import Sequence

from appliance.statistics import stats
from appliance.statistics.ratio import MANY, find_confidence, find_ratio
from tui.model.campaigns import BootRatio, CampaignDrive


def find_boot_ratios(
    drives: Sequence[CampaignDrive],
) -> tuple[tuple[BootRatio, ...], tuple[str, ...]]:
    """Each drive beside the fastest one, and what has not settled; nothing where none has."""
    booted = [part for drive in drives for part in drive.by_power if part.times_s]
    settled = [(drive, boot_s) for drive in booted if (boot_s := _find_settled_s(drive))]
    if len(booted) < 2 or not settled:
        return (), ()
    settled.sort(key=lambda each: stats.find_median(each[1]) or 0.0)
    best, others, picked_from = settled[0], settled[1:], 2
    if len(settled) > MANY:
        # As the report does it: the slowest that was booted as a faster one was.
        groups = (
            [other for other in settled if _find_proofs(other[0]) == _find_proofs(pair[0])]
            for pair in reversed(settled)
        )
        alike = next((group for group in groups if len(group) > 1), [best, settled[-1]])
        best, others, picked_from = alike[0], alike[-1:], len(alike)
    known = {drive.booted for drive, _boot_s in settled}
    return (
        tuple(_compare(best, other, picked_from=picked_from) for other in others),
        tuple(drive.booted for drive in booted if drive.booted not in known),
    )


def _find_settled_s(drive: CampaignDrive) -> tuple[float, ...]:
    cycles = [boot.cycle for boot in drive.boots if boot.counts]
    point = stats.find_course(cycles, drive.times_s).settled_from
    return () if point is None else drive.times_s[point:]


def _compare(
    one: tuple[CampaignDrive, tuple[float, ...]],
    other: tuple[CampaignDrive, tuple[float, ...]],
    *,
    picked_from: int,
) -> BootRatio:
    proofs = (_find_proofs(one[0]), _find_proofs(other[0]))
    confidence = find_confidence(picked_from)
    is_alike = proofs[0] == proofs[1]
    ratio = find_ratio(other[1], one[1], confidence=confidence) if is_alike else None
    interval = ratio and ratio.interval
    return BootRatio(
        one=one[0].booted,
        other=other[0].booted,
        counts=(len(one[1]), len(other[1])),
        proofs=proofs,
        value=ratio.value if ratio else 1.0,
        interval=(interval.low, interval.high) if interval else None,
        picked_from=picked_from,
    )


def _find_proofs(drive: CampaignDrive) -> tuple[tuple[str, ...], ...]:
    cooled = {"proven": ("cooled",), "unproven": ("cooling unproven",)}
    return tuple(
        sorted(
            {
                (boot.power, boot.cold_proof, *cooled.get(boot.cooling, ()))
                for boot in drive.boots
                if boot.counts
            }
        )
    )
