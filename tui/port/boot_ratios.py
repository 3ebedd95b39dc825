# SPDX-License-Identifier: Apache-2.0
"""How many times as long one drive's settled boots took as another's. Pure.

The rules are those of the report (`appliance.report.ratios`): settled boots only, power and proof
the same on both sides.
"""

from collections.abc import Sequence

from appliance.report.ratios import MANY
from appliance.statistics import stats
from appliance.statistics.ratio import find_confidence, find_ratio
from tui.model.campaigns import BootRatio, CampaignDrive


def find_boot_ratios(
    drives: Sequence[CampaignDrive],
) -> tuple[tuple[BootRatio, ...], tuple[str, ...]]:
    """Each drive beside the fastest one, and what has not settled; nothing where none has."""
    booted = [each for drive in drives for each in drive.by_power if each.times_s]
    settled = [(drive, boot_s) for drive in booted if (boot_s := _find_settled_s(drive))]
    if len(booted) < 2 or not settled:
        return (), ()
    settled.sort(key=lambda each: stats.find_median(each[1]) or 0.0)
    is_many = len(settled) > MANY
    others = settled[-1:] if is_many else settled[1:]
    confidence = find_confidence(len(settled) if is_many else 2)
    known = {drive.booted for drive, _boot_s in settled}
    return (
        tuple(_compare(settled[0], other, confidence=confidence) for other in others),
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
    confidence: float,
) -> BootRatio:
    proofs = (_find_proofs(one[0]), _find_proofs(other[0]))
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
