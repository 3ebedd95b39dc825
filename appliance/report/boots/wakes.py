"""Boots that were not started by the alarm: something else switched the machine on. Pure.

A machine that is on before its alarm was off for a shorter time than planned: that alone does not
make the figure wrong, but nobody knows what else was done to it.
"""

from collections.abc import Sequence

from appliance.report.boots.findings import Finding
from appliance.report.series import label_booted
from appliance.store.read.campaign import BootRow, CampaignRows

_CLOCK_S = 1.0
"""The hardware clock tells full seconds: what it reads is up to one less than the time.

A kernel that starts at the alarm is so at most that much before it (drivers/rtc/sysfs.c,
since_epoch). Firmware and loader come in between: later is no sign of anything.
"""


def find_early_s(boot: BootRow) -> float | None:
    """How long before its alarm the boot began; None where it did not, or had none."""
    skew_s = boot.wake_skew_s
    return -skew_s if skew_s is not None and skew_s < -_CLOCK_S else None


def say_early(boot: BootRow) -> str:
    """The doubt about one boot; empty where there is none."""
    early_s = find_early_s(boot)
    return "" if early_s is None else f"began {early_s:.0f} s before its alarm"


def find_wake_findings(rows: CampaignRows) -> tuple[Finding, ...]:
    """One doubt per drive with such boots."""
    found = []
    for drive in rows.drives:
        early = sorted(
            (boot for boot in rows.boots if boot.drive_id == drive.id and say_early(boot)),
            key=lambda boot: (boot.charted, boot.cycle),
        )
        if early:
            found.append(Finding("remark", label_booted(drive), _say(early)))
    return tuple(found)


def _say(early: Sequence[BootRow]) -> str:
    boots = [
        f"{'charted ' if boot.charted else ''}boot {boot.cycle} {say_early(boot)}" for boot in early
    ]
    return (
        f"{', '.join(boots)}: something else than the clock switched the machine on, and it was"
        " off for a shorter time than planned."
    )
