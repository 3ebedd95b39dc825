# SPDX-License-Identifier: Apache-2.0
"""What a campaign adds to each boot: its time beside firmware, timed boot and wake margin.

From the timed boot's end until the alarm for the next one is set: the sample, its proof, the
countdown that a key stops. The programs for that come from the drive that was booted, so a slow
drive takes longer: a disk and an SSD take turns. Everything comes from the stored rows, so it can
be asked of any campaign, on real hardware as well: `python3 -m tests.lab.bench_boots DATABASE`.
"""

import sqlite3
import statistics
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from tests.lab.campaign import Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.measures import Measure
from tests.lab.timing import SeekCurve

GOAL_S = 15
_MARGIN_S = 60
_PLAN = f"""\
version = 1
[campaign]
name = "around the boots"
autostart = true
[[drive]]
serial = "LAB-HDD-1"
erase = "LAB-HDD-1"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[boot]
cycles = 2
boot_set = "4M"
charts = "none"
wake_margin = {_MARGIN_S}
"""
_BOOTS = """
    SELECT d.identity, c.position, c.alarm_at, p.wake_margin_s, s.boot_s, s.wake_skew_s
    FROM cycle c JOIN campaign p ON p.id = c.campaign_id JOIN boot_sample s ON s.cycle_id = c.id
        JOIN drive d ON d.id = c.drive_id
    WHERE c.state = 'done' AND c.attempts = 1 AND c.power = 'cold' AND p.settle_s = 0
    ORDER BY c.campaign_id, c.position
"""


@dataclass(frozen=True, slots=True)
class Boot:
    """A cold boot that came at the first attempt; times of day by the hardware clock."""

    drive: str
    position: int
    """In the campaign, from 0."""
    alarm_at_s: float
    margin_s: float
    """From setting the alarm to the alarm."""
    boot_s: float
    wake_skew_s: float


def find_around(boots: Sequence[Boot]) -> dict[str, list[float]]:
    """Seconds between the end of each timed boot and the alarm set for the next one. Pure.

    By the drive that was booted. The hardware clock tells full seconds, and so do these, more or
    less. Between two boots that do not follow each other there may have been anything.
    """
    found: dict[str, list[float]] = {}
    for before, after in pairwise(boots):
        if after.position == before.position + 1:
            found.setdefault(before.drive, []).append(
                (after.alarm_at_s - after.margin_s)
                - (before.alarm_at_s + before.wake_skew_s + before.boot_s)
            )
    return found


def read_boots(database: Path) -> list[Boot]:
    """The cold boots of the only campaign in it, in their order."""
    with closing(sqlite3.connect(database)) as connection:
        return [
            Boot(drive, position, datetime.fromisoformat(alarm_at).timestamp(), *seconds)
            for drive, position, alarm_at, *seconds in connection.execute(_BOOTS)
            if None not in (alarm_at, *seconds)
        ]


def compare_around(around_s: Mapping[str, Sequence[float]]) -> list[Measure]:
    """The median of each drive against the goal."""
    medians = {drive: statistics.median(found) for drive, found in around_s.items()}
    return [
        Measure(
            name="time around a boot: beside firmware, timed boot and wake margin; "
            f"{len(around_s[drive])} after a boot of {drive}",
            value=round(value, 1),
            unit="s",
            peer="Checkbox's power cycles wait 240 s",
            goal=f"at most {GOAL_S} s",
            holds=value <= GOAL_S,
        )
        for drive, value in medians.items()
    ]


def measure_boots(out: Path) -> list[Measure]:
    """Cold boots of two drives in turn, in the time of the emulated processor, not the host's."""
    curve = SeekCurve().quicker(2)  # the head of a real disk, in the emulated processor's time
    drives = [
        ModelledDrive(serial="LAB-HDD-1", model="hdd", curve=curve),
        ModelledDrive(serial="LAB-SSD-1", model="ssd"),
    ]
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives, icount_shift=0))
    if not result.ok or result.database is None:
        raise RuntimeError(f"the campaign ended as {result.outcome}: {result.reason}")
    around_s = find_around(read_boots(result.database))
    counts = [len(found) for found in around_s.values()]
    if counts != [2, 1]:
        raise RuntimeError(f"boots are missing, or the drives did not take turns: {around_s}")
    return show_around(around_s)


def show_around(around_s: Mapping[str, Sequence[float]]) -> list[Measure]:
    """Print each, and return the comparison."""
    for drive, found in around_s.items():
        print(f"bench: after a boot of {drive}: {', '.join(f'{each:.1f}' for each in found)} s")
    return compare_around(around_s)


if __name__ == "__main__":
    for measured in show_around(find_around(read_boots(Path(sys.argv[1])))):
        print(measured)
