# SPDX-License-Identifier: Apache-2.0
"""What speaks against a single boot, and against all times of day. Pure.

A machine that is on before its alarm was off for a shorter time than planned: that alone does not
make the figure wrong, but what else was done to it is unknown. An error of the drive costs time.
A clock that was set back leaves only the order of what happened.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

from appliance.report.boots.findings import Finding
from appliance.report.series import label_booted
from appliance.report.steps import format_time
from appliance.store.clock import parse_timestamp
from appliance.store.read.campaign import BootRow, CampaignRows

_CLOCK_S = 1.0
_SET_BACK_S = 60.0
"""Less may be the order in which threads store what they noted."""
"""The hardware clock tells full seconds: what it reads is up to one less than the time.

A kernel that starts at the alarm is so at most that much before it (drivers/rtc/sysfs.c,
since_epoch). Firmware and loader come in between: later is no sign of anything, up to `_LATE_S`.
"""
_LATE_S = 900.0
"""No firmware takes as long, with all drives of a server to be found."""
_LONGEST_MARGIN_S = 3660.0
"""No alarm is set further ahead (`wake_margin`): what is earlier, the clock itself was changed."""


def say_doubts(boot: BootRow) -> str:
    """The doubts about one boot; empty where there is none."""
    errors = "kernel errors of the drive" if boot.kernel_errors else ""
    return "; ".join(filter(None, (_say_wake(boot), errors)))


def _say_wake(boot: BootRow) -> str:
    skew_s = boot.wake_skew_s
    if skew_s is None or -_CLOCK_S <= skew_s <= _LATE_S:
        return ""
    if skew_s > 0.0:
        return f"began {skew_s:.0f} s after its alarm"
    if skew_s < -_LONGEST_MARGIN_S:
        return f"the clock jumped back by {-skew_s - _LONGEST_MARGIN_S:.0f} s or more"
    return f"began {-skew_s:.0f} s before its alarm"


def find_doubts(rows: CampaignRows) -> tuple[Finding, ...]:
    """Of each drive one about early boots, about late ones, about the clock, about errors.

    Of the campaign one about the clock.
    """
    findings = []
    for drive in rows.drives:
        label = label_booted(drive)
        drive_boots = sorted(
            (boot for boot in rows.boots if boot.drive_id == drive.id),
            key=lambda boot: (boot.charted, boot.cycle),
        )
        odd = [boot for boot in drive_boots if _say_wake(boot)]
        for sign, why in _WHY.items():
            if boots := [boot for boot in odd if sign in _say_wake(boot)]:
                findings.append(Finding("remark", label, f"{_list(boots)}: {why}"))
        findings += [
            Finding("remark", label, f"{_name(boot)}: the kernel reported {boot.kernel_errors}.")
            for boot in drive_boots
            if boot.kernel_errors
        ]
    return (*findings, *_find_clock_set_back(rows))


def _find_clock_set_back(rows: CampaignRows) -> Iterator[Finding]:
    # What is done with an ended campaign, any machine may do.
    names = [event["event"] for event in rows.events]
    end = names.index("campaign-done") + 1 if "campaign-done" in names else len(names)
    times: list[tuple[float, str]] = []
    for at in (str(event["at"]) for event in rows.events[:end]):
        with suppress(ValueError):  # a time that the stick has spoilt
            times.append((parse_timestamp(at), at))
    back = [
        (one, other)
        for (one_s, one), (other_s, other) in pairwise(times)
        if one_s - other_s > _SET_BACK_S
    ]
    for one, other in back[:1]:
        text = (
            f"was set back while the campaign ran ({format_time(one)}, then {format_time(other)}"
            " UTC): only the order of its boots, steps and events is known."
        )
        yield Finding("remark", "the machine's clock", text)


_WHY = {
    "before its alarm": "something else than the clock switched the machine on, and it was off for"
    " a shorter time than planned.",
    "after its alarm": "the alarm did not switch the machine on, and something else did later; or"
    " its clock was set forward.",
    "jumped back": "when the machine was switched on is not known.",
}


def _list(boots: Sequence[BootRow]) -> str:
    return ", ".join(f"{_name(boot)} {_say_wake(boot)}" for boot in boots)


def _name(boot: BootRow) -> str:
    return f"{'charted ' if boot.charted else ''}boot {boot.cycle}"
